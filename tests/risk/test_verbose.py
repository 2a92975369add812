"""`verbose=True` prints the parts of a fit as they begin; nothing is printed otherwise."""

import re

import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from condrisk import AutoRisk, HybridRisk, PlugInRisk, RegressionRisk
from condrisk.app.models import fit_table
from condrisk.datasets import load_uci, make_gaussian_mixture, make_heteroscedastic

NUMBERS, CLASSES = make_heteroscedastic(120, random_state=0), make_gaussian_mixture(120)


def lines(printed):
    return re.findall(r"^\[(\w+)\] +\d+\.\d s  (.+)$", printed, flags=re.MULTILINE)


@pytest.mark.parametrize("kind", [RegressionRisk, PlugInRisk, HybridRisk, AutoRisk])
@pytest.mark.parametrize(
    ("predictor", "world"), [(LinearRegression(), NUMBERS), (LogisticRegression(), CLASSES)]
)
def test_each_part_is_printed_as_it_begins(kind, predictor, world, capsys):
    kind(predictor, random_state=0).fit(world.X, world.y)
    assert capsys.readouterr().out == ""
    kind(predictor, random_state=0, verbose=True).fit(world.X, world.y)
    found = lines(capsys.readouterr().out)
    assert {name for name, _ in found} == {kind.__name__}
    parts = [part for _, part in found]
    name = type(predictor).__name__
    of_predictor = [p for p in parts if re.fullmatch(rf"{name}, fold \d of 5", p)]
    assert list(dict.fromkeys(of_predictor)) == [f"{name}, fold {k} of 5" for k in range(1, 6)]
    assert parts[-1] == "done"


def test_fits_at_a_time_are_announced_once_each(capsys):
    RegressionRisk(LinearRegression(), n_jobs=2, random_state=0, verbose=True).fit(
        NUMBERS.X, NUMBERS.y
    )
    parts = [part for _, part in lines(capsys.readouterr().out)]
    assert sum("of 5" in part for part in parts) == 5


def test_a_command_is_told_which_part_is_fitted(quick_fits):
    energy, told = load_uci("energy"), []
    frame = pl.DataFrame(energy.data, schema=list(energy.feature_names))
    frame = frame.with_columns(heating_load=energy.target)
    fit_table(frame, target="heating_load", cost=1.0, progress=told.append)
    parts = [what for what in told if what.startswith("fitting on 614 rows: ")]
    assert any("fold 3 of 5" in part for part in parts)
    assert told.index(parts[-1]) < told.index("measuring on 154 rows")
