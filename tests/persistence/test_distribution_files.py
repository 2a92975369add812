"""Model files of risks that put a distribution of the target into the loss."""

from zipfile import ZipFile

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.tree import ExtraTreeRegressor

from condrisk import AutoRisk, Deferral, HybridRisk, PlugInRisk
from condrisk.datasets import make_heteroscedastic
from condrisk.learners import DistributionRegressor
from condrisk.persistence import ModelFileError, load_model, read_manifest, save_model

N_ROWS = 83  # nothing else here has so many of anything
TRAIN = make_heteroscedastic(N_ROWS, random_state=0)
FRESH = TRAIN.sample(60, random_state=1)
FEW = HistGradientBoostingRegressor(max_iter=5, random_state=0)


def light(mean):
    return DistributionRegressor(mean, FEW)


MODELS = {
    "default distribution": PlugInRisk(Ridge(), cv=2, random_state=0),
    "another mean": PlugInRisk(Ridge(), distribution=light(RandomForestRegressor(5)), cv=2),
    "another loss": PlugInRisk(Ridge(), loss="absolute_error", distribution=light(FEW), cv=2),
    "corrected": HybridRisk(Ridge(), distribution=light(FEW), cv=2, random_state=0),
    "regressed": HybridRisk(Ridge(), distribution=light(FEW), regressor=Ridge(), cv=2),
    "automatic": AutoRisk(Ridge(), cv=2, random_state=0),
    "frozen": PlugInRisk(
        FrozenEstimator(Ridge().fit(TRAIN.X, TRAIN.y)),
        distribution=FrozenEstimator(light(FEW).fit(TRAIN.X, TRAIN.y)),
    ),
}
NAMES = {
    "default distribution": "Ridge, risk by PlugInRisk (DistributionRegressor of StackedRegressor)",
    "corrected": "Ridge, risk by HybridRisk (DistributionRegressor of HistGradientBoosting",
    "automatic": "Ridge, risk by AutoRisk (DistributionRegressor of StackedRegressor)",
}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_risk_is_the_saved_one_with_its_parts(name, tmp_path):
    path = tmp_path / "model.skops"
    risk = MODELS[name].fit(TRAIN.X, TRAIN.y)
    save_model(risk, path, schema=TRAIN.X)
    again = load_model(path)
    np.testing.assert_array_equal(again.predict_risk(FRESH.X), risk.predict_risk(FRESH.X))
    for ours, theirs in zip(
        risk.decompose_risk(FRESH.X), again.decompose_risk(FRESH.X), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(
        again.predict_loss_quantiles(FRESH.X, [0.5, 0.99]),
        risk.predict_loss_quantiles(FRESH.X, [0.5, 0.99]),
    )
    assert read_manifest(path)["predictor"].startswith(NAMES.get(name, "Ridge, risk by"))


def test_held_out_rows_stay_out_of_the_file(tmp_path):
    path = tmp_path / "model.skops"
    risk = MODELS["corrected"].fit(TRAIN.X, TRAIN.y)
    assert len(risk.distribution_.held_out_.mean) == N_ROWS  # they were there to be left out
    save_model(risk, path, schema=TRAIN.X)
    with ZipFile(path) as file:
        arrays = [np.load(file.open(name)) for name in file.namelist() if name.endswith(".npy")]
    # Residuals are what a distribution is; they stand in order of size, not of the rows.
    residuals = [array for array in arrays if N_ROWS in array.shape]
    assert len(residuals) == 2
    assert all(array.shape == (N_ROWS,) for array in residuals)
    assert (np.diff(risk.distribution_.residuals_) >= 0).all()
    again = load_model(path)
    assert not hasattr(again, "held_out_")
    assert not hasattr(again.distribution_, "held_out_")


def test_a_tree_of_another_model_in_a_correction_is_refused(tmp_path):
    """Trees in native code follow what the file says: they are checked wherever they are."""
    model = Deferral(MODELS["corrected"], cost=1.0).fit(TRAIN.X, TRAIN.y)
    correction = model.risk_.correction_
    other = ExtraTreeRegressor(random_state=0).fit(TRAIN.X[:, :1], TRAIN.y)
    correction._forest.estimators_[0].tree_ = other.tree_
    with pytest.raises(ModelFileError, match="has a tree for other columns"):
        save_model(model, tmp_path / "model.skops", schema=TRAIN.X)
