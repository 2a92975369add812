"""The paper's figure, and the one of calibration against deferral."""

import matplotlib as mpl
import numpy as np
import pytest
from fake_records import fake_records, with_rows

from condrisk.paper.rwr._figure import draw_calibration_against_deferral, draw_profile
from condrisk.paper.rwr._paper import COSTS, MODELS, SETS


@pytest.fixture(autouse=True)
def no_screen():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield
    assert not plt.get_fignums()  # figures are the caller's; pyplot keeps none


def test_profile_shows_the_rows_of_the_first_fold_that_has_them():
    records = with_rows(fake_records(sets=["energy", "wine"], n_folds=3))
    del next(r for r in records if "rows" in r and r["fold"] == 0)["rows"]
    figure = draw_profile(list(reversed(records)))
    (chosen,) = [r["rows"] for r in records if "rows" in r and r["fold"] == 1]
    (ax,) = figure.axes
    assert "fold 2" in ax.get_title(loc="left")
    lines = [line.get_ydata() for line in ax.lines]
    order = np.argsort(chosen["y"])
    assert any(np.array_equal(np.sort(chosen["y"]), line) for line in lines)
    assert any(np.array_equal(np.array(chosen["prediction"])[order], line) for line in lines)


def test_no_rows_no_profile():
    assert draw_profile(fake_records(n_folds=1)) is None
    assert draw_profile([]) is None


def test_one_panel_for_each_set_with_sixteen_points():
    records = fake_records(sets=(*SETS, "wine-quality"), n_folds=2)
    figure = draw_calibration_against_deferral(records)
    assert [ax.get_title(loc="left") for ax in figure.axes] == list(SETS)
    for ax in figure.axes:
        assert sum(line.get_marker() not in ("None", "", None) for line in ax.lines) == 16


def test_points_are_relative_error_and_relative_loss():
    records = fake_records(sets=["energy"], n_folds=2)

    def means(method):
        chosen = [r for r in records if r["method"] == method]
        loss = [r["costs"][cost]["loss"] / float(cost) for r in chosen for cost in COSTS]
        return np.mean([np.sqrt(r["risk_l2"]) for r in chosen]), np.mean(loss)

    expected = []
    for model in MODELS:
        errors, losses = zip(*(means(f"{model}+{other}") for other in MODELS), strict=True)
        expected += zip(np.divide(errors, min(errors)), losses, strict=True)
    (ax,) = draw_calibration_against_deferral(records).axes
    points = [line.get_xydata()[0] for line in ax.lines if line.get_marker() != "None"]
    np.testing.assert_allclose(sorted(map(tuple, points)), sorted(expected))


@pytest.mark.parametrize("n_sets", [1, 3, 5])
def test_few_sets_have_as_many_panels(n_sets):
    figure = draw_calibration_against_deferral(fake_records(sets=SETS[:n_sets], n_folds=1))
    assert sum(ax.axison for ax in figure.axes) == n_sets


def test_nothing_to_draw():
    assert draw_calibration_against_deferral([]) is None
    records = fake_records(sets=["wine"], methods=["SelNet"], n_folds=1)
    assert draw_calibration_against_deferral(records) is None
