"""The figures of CIFAR-10, the names in them, and the report as files."""

import matplotlib as mpl
import numpy as np
import pytest
from fake_cifar10_records import METHODS, each, fake_records
from matplotlib.text import Text

from condrisk.paper.cifar10._figure import draw_error_against_deferral, draw_temperature
from condrisk.paper.cifar10._paper import COSTS, PREDICTORS
from condrisk.paper.cifar10._results import PROBABILITIES, SCALED
from condrisk.paper.cifar10.report import REPORT


@pytest.fixture(autouse=True)
def no_screen():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield
    assert not plt.get_fignums()  # figures are the caller's; pyplot keeps none


def points(ax):
    return [tuple(line.get_xydata()[0]) for line in ax.lines if line.get_marker() != "None"]


def test_points_are_squared_error_and_relative_loss(seed):
    records = fake_records(seed, seeds=range(2), noise=0.3)
    figure = draw_error_against_deferral(records)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["predictor CNN", "predictor ResNet"]
    for ax, predictor in zip(figure.axes, PREDICTORS, strict=True):
        expected = []
        for method in METHODS:
            chosen = each(records, set=predictor, method=method)
            losses = [r["costs"][cost]["loss"] / float(cost) for r in chosen for cost in COSTS]
            expected.append((np.mean([r["risk_l2"] for r in chosen]), np.mean(losses)))
        np.testing.assert_allclose(sorted(points(ax)), sorted(expected))


def test_reference_lines():
    records = fake_records(noise=0.0, seeds=[0])
    (ax,) = draw_error_against_deferral([r for r in records if r["set"] == "CNN"]).axes
    heights = {line.get_linestyle(): line.get_ydata()[0] for line in ax.lines}
    oracle = np.mean([0.08 / 0.2, 0.16 / 0.5, 0.26, 0.38 / 2])
    cheaper = np.mean([1, 1, 0.575, 0.575 / 2])  # the predictor's loss is 0.575
    assert (heights[":"], heights["--"]) == pytest.approx((oracle, cheaper))


def test_labels_are_legible(seed):
    figure = draw_error_against_deferral(fake_records(seed, noise=0.2))
    figure.draw_without_rendering()
    for ax in figure.axes:
        assert {text.get_text() for text in ax.texts} == set(METHODS) - set(SCALED)
        boxes = [Text.get_window_extent(text) for text in ax.texts]  # without the line to it
        crossing = [(a, b) for k, a in enumerate(boxes) for b in boxes[:k] if overlap(a, b) > 0.1]
        assert not crossing


def overlap(a, b):
    """Return the area that two boxes share, of the smaller one's."""
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    shared = max(width, 0) * max(height, 0)
    return shared / min(a.width * a.height, b.width * b.height)


def test_temperature_shows_the_relative_change():
    records = fake_records(seeds=range(3), noise=0.05)
    figure = draw_temperature(records)
    for ax, predictor in zip(figure.axes, PREDICTORS, strict=True):
        tips = {}
        for line in ax.lines:
            if len(line.get_xdata()) == 1:  # the middle of an error bar, or the end of a whisker
                height = round(float(line.get_ydata()[0]), 6)
                tips.setdefault(height, []).append(float(line.get_xdata()[0]))
        assert len(tips) == 3 * len(PROBABILITIES)
        for k, (raw, scaled) in enumerate(zip(PROBABILITIES, SCALED, strict=True)):
            a, b = (
                np.array([r["risk_l1"] for r in each(records, set=predictor, method=m)])
                for m in (raw, scaled)
            )
            expected = 100 * np.mean(b / a - 1)
            assert any(tip == pytest.approx(expected) for tip in tips[round(k - 0.24, 6)])
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == list(PROBABILITIES)


def test_arrows_only_where_the_seeds_agree():
    records = fake_records(seeds=range(4), noise=0.0)
    for record in records:
        if record["method"] in SCALED:
            raw = record["method"].removesuffix(", scaled")
            (before,) = each(records, set=record["set"], method=raw, fold=record["fold"])
            sign = (-1) ** record["fold"]
            record["risk_l1"] = before["risk_l1"] * 1.1
            record["risk_l2"] = before["risk_l2"] * (1 + 0.1 * sign)
            record["costs"] = before["costs"]
    for ax in draw_temperature(records).axes:
        assert len(ax.texts) == len(PROBABILITIES)  # an arrow is an annotation without words
        assert all(arrow.xy[0] == pytest.approx(10.0) for arrow in ax.texts)


def test_nothing_to_draw():
    networks = fake_records(predictors=[])
    assert draw_error_against_deferral(networks) is None
    assert draw_temperature(networks) is None
    assert draw_temperature(fake_records(methods=["p CNN", "Hybrid"])) is None


def test_one_predictor_and_few_methods():
    records = fake_records(predictors=["ResNet"], methods=["p CNN", "p CNN, scaled"], seeds=[0])
    assert len(draw_error_against_deferral(records).axes) == 1
    (ax,) = draw_temperature(records).axes
    assert len(ax.get_yticklabels()) == 1


# -- the report -----------------------------------------------------------------------------------


def test_report_writes_every_file_once(tmp_path):
    records = fake_records(predictors=["CNN"], methods=["p CNN", "p CNN, scaled"], seeds=[0, 1])
    written = REPORT.write(records, tmp_path / "new" / "report")
    tables = ["table1", "table6", "networks", "temperature"]
    expected = {f"{name}{suffix}" for name in tables for suffix in (".md", ".tex", ".png")}
    expected |= {"claims.md", "error-against-deferral.png", "temperature-scaling.png"}
    assert {path.name for path in written} == expected
    assert all(path.stat().st_size > 0 for path in written)
    before = {path: path.stat().st_mtime_ns for path in written}
    assert REPORT.write(records, tmp_path / "new" / "report") == written
    assert {path: path.stat().st_mtime_ns for path in written} == before


def test_other_records_make_another_report(tmp_path):
    records = fake_records(predictors=["CNN"], methods=["p CNN"], seeds=[0, 1])
    REPORT.write(records, tmp_path)
    old = (tmp_path / "table1.md").read_text(encoding="utf-8")
    records[-1]["risk_l1"] += 1.0
    REPORT.write(records, tmp_path)
    assert (tmp_path / "table1.md").read_text(encoding="utf-8") != old


def test_a_file_that_is_gone_is_written_again(tmp_path):
    records = fake_records(predictors=["CNN"], methods=["p CNN"], seeds=[0])
    REPORT.write(records, tmp_path)
    (tmp_path / "claims.md").unlink()
    REPORT.write(records, tmp_path)
    assert (tmp_path / "claims.md").exists()
