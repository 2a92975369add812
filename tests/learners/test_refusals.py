"""What learners and risks say about rows, targets, weights and groups that they cannot take."""

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

from condrisk import AutoRisk, PlugInRisk, RegressionRisk
from condrisk.learners import DistributionRegressor, LossRegressor, StackedRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + RNG.normal(size=60)
LEARNERS = {
    "LossRegressor": LossRegressor(random_state=0),
    "StackedRegressor": StackedRegressor(random_state=0),
    "DistributionRegressor": DistributionRegressor(random_state=0),
}
RISKS = {
    "RegressionRisk": RegressionRisk(LinearRegression(), random_state=0),
    "PlugInRisk": PlugInRisk(LinearRegression(), random_state=0),
    "AutoRisk of a model": AutoRisk(LinearRegression(), random_state=0),
}
EVERYTHING = {**LEARNERS, **RISKS}
each = pytest.mark.parametrize("model", EVERYTHING.values(), ids=EVERYTHING)


def far(value):
    rows = X[:4].copy()
    rows[1, 2] = value
    return rows


@pytest.mark.parametrize("value", [1e39, -1e200])
@pytest.mark.parametrize(
    "model",
    [*EVERYTHING.values(), AutoRisk(task="regression", random_state=0)],
    ids=[*EVERYTHING, "AutoRisk"],
)
def test_new_rows_beyond_float32_count_as_its_ends(model, value):
    model = model.fit(X, Y)
    predict = model.predict_risk if hasattr(model, "predict_risk") else model.predict
    assert np.isfinite(predict(far(value))).all()
    if isinstance(model, DistributionRegressor):
        assert np.isfinite(model.predict_std(far(value))).all()


@pytest.mark.parametrize("model", LEARNERS.values(), ids=LEARNERS)
def test_training_rows_beyond_float32_are_named(model):
    with pytest.raises(ValueError, match=r"X has 1e\+39 in row 1, column 2"):
        model.fit(np.vstack([far(1e39), X]), np.append(Y[:4], Y))
    frame = pl.DataFrame({"size": [1e39, *X[1:, 0]], "kind": ["a", "b"] * (len(X) // 2)})
    with pytest.raises(ValueError, match=r"X has 1e\+39 in row 0, column 'size'"):
        model.fit(frame, Y)


@each
@pytest.mark.parametrize("dtype", ["U1", object])
def test_text_is_no_target_of_a_regressor(model, dtype):
    with pytest.raises(ValueError, match="y must be numbers for a regressor, got the text 'a'"):
        model.fit(X, np.array(list("ab") * 30, dtype=dtype))


@each
def test_some_row_must_count(model):
    with pytest.raises(ValueError, match="sample_weight is zero for all rows"):
        model.fit(X, Y, sample_weight=np.zeros(60))


@pytest.mark.parametrize(
    "model",
    [LEARNERS["StackedRegressor"], LEARNERS["DistributionRegressor"], *RISKS.values()],
)
def test_folds_need_groups(model):
    with pytest.raises(ValueError, match=r"groups has 3 different values, .* give cv=3 or less"):
        model.fit(X, Y, groups=np.arange(60) % 3)
    with pytest.raises(ValueError, match=r"groups has 1 different value, .* at least two"):
        model.fit(X, Y, groups=np.zeros(60))


def test_levels_of_quantiles_are_needed():
    model = DistributionRegressor(LinearRegression(), random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="quantiles is empty: at least one level"):
        model.predict_quantiles(X, [])
