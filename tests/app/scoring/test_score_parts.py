"""What the risk is made of, in scored files: columns that add up to it."""

import numpy as np
import polars as pl
import pytest
from scoring_rows import class_model, make_rows, number_model
from sklearn.linear_model import Ridge

from condrisk import RegressionRisk
from condrisk.app.scoring import score_file
from condrisk.app.tables import TableError, check_rows, read_table

pytestmark = pytest.mark.usefixtures("quick_fits")


def part_rows(rows):
    """Return parts as columns, with the risk that they must add up to."""
    return rows.select("risk", "floor", "gap", "correction").to_numpy().T


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("make", [number_model, class_model])
def test_parts_add_up_to_the_risk(tmp_path, make, ending):
    make_rows(150).write_csv(tmp_path / "rows.csv")
    output = tmp_path / f"scored.{ending}"
    score_file(make(), tmp_path / "rows.csv", output, parts=True, batch_rows=40)
    found = read_table(output)
    assert found.columns[-7:] == [
        *("prediction", "risk", "defer", "outside"),
        *("floor", "gap", "correction"),
    ]
    risk, *parts = part_rows(found)
    direct = make().decompose_risk(check_rows(make().schema, make_rows(150)).good)
    np.testing.assert_allclose(parts, direct, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.sum(parts, axis=0), risk, rtol=1e-9, atol=1e-12)
    assert parts[0].min() >= 0
    assert parts[1].min() >= -1e-12


def test_parts_of_rows_that_are_bad_are_missing_with_them(tmp_path):
    rows = make_rows(20).with_columns(pl.col("size").cast(pl.String))
    rows[3, "size"] = "many"
    rows.write_csv(tmp_path / "rows.csv")
    summary = score_file(number_model(), tmp_path / "rows.csv", tmp_path / "s.csv", parts=True)
    assert (summary.scored, summary.rejected) == (19, 1)
    assert read_table(tmp_path / "s.csv")["gap"].null_count() == 0


def test_a_risk_without_parts_is_refused_in_one_sentence(tmp_path):
    X, y = np.arange(60.0)[:, None], np.arange(60.0)
    risk = RegressionRisk(Ridge(), regressor=Ridge(), cv=2).fit(X, y)
    pl.DataFrame({"x0": [1.0]}).write_csv(tmp_path / "rows.csv")
    with pytest.raises(TableError, match="RegressionRisk estimates it as a whole"):
        score_file(risk, tmp_path / "rows.csv", tmp_path / "s.csv", cost=1.0, parts=True)
    assert not (tmp_path / "s.csv").exists()
