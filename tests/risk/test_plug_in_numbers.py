"""Plug-in and hybrid risks of regressors, against closed forms and independent computation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge
from sklearn.model_selection import ShuffleSplit, TimeSeriesSplit

from condrisk import AutoRisk, HybridRisk, PlugInRisk
from condrisk.datasets import make_heteroscedastic
from condrisk.learners import DistributionRegressor
from condrisk.losses import huber, pinball

QUICK = DistributionRegressor(LinearRegression(), random_state=0)
KINDS = [PlugInRisk, HybridRisk]


class TrueNormal(RegressorMixin, BaseEstimator):
    """Knows that Y is normal with mean x₁ and deviation 1 + |x₂|."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X, return_std=False):
        X = np.asarray(X)
        return (X[:, 0], 1 + np.abs(X[:, 1])) if return_std else X[:, 0]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, X[:, 0] + (1 + np.abs(X[:, 1])) * rng.normal(size=60)


@pytest.fixture(scope="module")
def world():
    return make_heteroscedastic(400, random_state=0)


def _normal_risk(loss, rows):
    """Return a plug-in risk under the true distribution, and f, μ and σ of the rows."""
    X, y = rows
    line = LinearRegression().fit(X, y + 0.5)
    risk = PlugInRisk(FrozenEstimator(line), loss=loss, distribution=TrueNormal()).fit(X, y)
    return risk, line.predict(X), X[:, 0], 1 + np.abs(X[:, 1])


# -- closed forms --------------------------------------------------------------------------------


def test_squared_error_is_gap_and_variance(rows):
    risk, f, mean, std = _normal_risk(None, rows)
    assert_allclose(risk.predict_risk(rows[0]), (f - mean) ** 2 + std**2)
    floor, gap, correction = risk.decompose_risk(rows[0])
    assert_allclose(floor, std**2)
    assert_allclose(gap, (f - mean) ** 2, atol=1e-12)
    assert_allclose(correction, 0)


def test_absolute_error_of_a_normal(rows):
    risk, f, mean, std = _normal_risk("absolute_error", rows)
    folded = stats.foldnorm(np.abs(f - mean) / std, scale=std).mean()
    assert_allclose(risk.predict_risk(rows[0]), folded, rtol=2e-3)
    assert_allclose(risk.decompose_risk(rows[0]).floor, std * np.sqrt(2 / np.pi), rtol=2e-3)


def test_pinball_loss_of_a_normal(rows):
    risk, f, mean, std = _normal_risk(pinball(0.9), rows)
    t = (f - mean) / std
    expected = std * (t * (stats.norm.cdf(t) - 0.9) + stats.norm.pdf(t))
    assert_allclose(risk.predict_risk(rows[0]), expected, rtol=3e-3, atol=1e-3)
    floor = std * stats.norm.pdf(stats.norm.ppf(0.9))
    assert_allclose(risk.decompose_risk(rows[0]).floor, floor, rtol=3e-3)


def test_the_best_answer_is_searched_for_where_no_form_is_known(rows):
    risk, _, mean, std = _normal_risk(huber(1.0), rows)
    floor = risk.decompose_risk(rows[0]).floor
    at_mean = PlugInRisk("precomputed", loss=huber(1.0), distribution=TrueNormal())
    at_mean.fit(*rows, prediction=mean)  # of a symmetric distribution the mean is best
    assert_allclose(floor, at_mean.predict_risk(rows[0], prediction=mean), rtol=1e-4)

    def late(y_true, y_pred):
        return np.where(y_true > y_pred, 9.0, 1.0) * np.abs(y_true - y_pred)

    own = _normal_risk(late, rows)[0].decompose_risk(rows[0])
    assert_allclose(own.floor, 10 * std * stats.norm.pdf(stats.norm.ppf(0.9)), rtol=5e-3)


def test_exceedance_and_quantiles_of_the_loss(rows):
    risk, f, mean, std = _normal_risk(None, rows)
    above = 1 - (stats.norm.cdf((f + 1 - mean) / std) - stats.norm.cdf((f - 1 - mean) / std))
    assert_allclose(risk.predict_exceedance(rows[0], 1.0), above, atol=5e-3)
    limits = np.linspace(0, 3, 60)
    each = risk.predict_exceedance(rows[0], limits)
    assert_allclose(each[[0, -1]], [1.0, risk.predict_exceedance(rows[0], 3.0)[-1]])
    quantile = risk.predict_loss_quantiles(rows[0], [0.8])[:, 0]
    assert (risk.predict_exceedance(rows[0], quantile) <= 0.2 + 1e-9).all()
    assert (risk.predict_exceedance(rows[0], quantile * (1 - 1e-9)) > 0.2 - 1e-9).all()


def test_a_threshold_of_the_wrong_length_is_named(rows):
    risk = _normal_risk(None, rows)[0]
    with pytest.raises(ValueError, match="threshold must be one number, or one for each of the 60"):
        risk.predict_exceedance(rows[0], [1.0, 2.0])


# -- predictors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_precomputed_and_cross_fitted_agree_on_what_they_share(kind, world):
    X, y = world.X, world.y
    line = LinearRegression().fit(X, y)
    frozen = kind(FrozenEstimator(line), distribution=QUICK, random_state=0).fit(X, y)
    external = kind("precomputed", distribution=QUICK, random_state=0)
    external.fit(X, y, prediction=line.predict(X))
    new = world.sample(50, random_state=1).X
    given = external.predict_risk(new, prediction=line.predict(new))
    assert_allclose(given, frozen.predict_risk(new))
    assert_allclose(external.held_out_.risks, frozen.held_out_.risks)
    crossed = kind(LinearRegression(), distribution=QUICK, random_state=0).fit(X, y)
    assert_allclose(crossed.held_out_.losses.mean(), frozen.held_out_.losses.mean(), rtol=0.1)


def test_the_held_out_risk_is_that_of_the_held_out_prediction(world):
    """f and m out of fold: (f − m)² + v of responses that have not seen the row."""
    risk = PlugInRisk(Ridge(5.0), distribution=QUICK, random_state=0).fit(world.X, world.y)
    found = risk.distribution_.held_out_
    assert (risk.held_out_.risks >= found.std**2 - 1e-12).all()
    assert risk.held_out_.risks.max() < 50


@pytest.mark.parametrize("cv", [ShuffleSplit(3, random_state=0), TimeSeriesSplit(4)])
@pytest.mark.parametrize("kind", KINDS)
def test_splits_that_are_no_partition(kind, cv, world):
    risk = kind(LinearRegression(), distribution=QUICK, cv=cv, random_state=0)
    risk.fit(world.X, world.y)
    assert len(risk.held_out_.risks) == len(np.unique(risk.held_out_.rows))
    assert np.isfinite(risk.held_out_.risks).all()


def test_one_split_without_refit(world):
    cv = ShuffleSplit(1, test_size=0.5, random_state=0)
    risk = PlugInRisk(LinearRegression(), distribution=QUICK, cv=cv, refit=False, random_state=0)
    risk.fit(world.X, world.y)
    assert len(risk.held_out_.rows) == 200
    assert len(risk.distribution_.held_out_.mean) == 200


def test_weights_reach_the_distribution(world):
    weight = np.where(world.X[:, 0] > 0, 1.0, 0.0)
    heavy = PlugInRisk(LinearRegression(), distribution=QUICK, random_state=0)
    heavy.fit(world.X, world.y, sample_weight=weight)
    light = PlugInRisk(LinearRegression(), distribution=QUICK, random_state=0)
    light.fit(world.X, world.y)
    calm = np.array([[-2.0, 0, 0, 0, 0]])
    assert heavy.predict_risk(calm) > 2 * light.predict_risk(calm)


def test_a_class_loss_is_refused_for_a_regressor(world):
    with pytest.raises(ValueError, match="loss 'zero_one' is for classification"):
        PlugInRisk(LinearRegression(), loss="zero_one").fit(world.X, world.y)


# -- other packages -----------------------------------------------------------------------------


def _gaussian_process():
    return GaussianProcessRegressor(RBF(2.0) + WhiteKernel(1.0), optimizer=None, normalize_y=True)


def _quantile_forest():
    module = pytest.importorskip("quantile_forest")
    return module.RandomForestQuantileRegressor(50, min_samples_leaf=5, random_state=0)


def _ngboost():
    module = pytest.importorskip("ngboost")
    return module.NGBRegressor(n_estimators=50, verbose=False, random_state=0)


def _skpro():
    module = pytest.importorskip("skpro.regression.residual")
    return module.ResidualDouble(LinearRegression())


@pytest.mark.parametrize(
    "make", [_gaussian_process, BayesianRidge, _quantile_forest, _ngboost, _skpro]
)
def test_distributions_of_other_packages(make, world):
    """Their own mean and deviation give the squared error; their quantiles the rest."""
    X, y, new = world.X[:150], world.y[:150], world.sample(30, random_state=2)
    risk = PlugInRisk(LinearRegression(), distribution=make(), cv=2, random_state=0).fit(X, y)
    f, model = risk.predict(new.X), risk.distribution_
    mean = np.asarray(model.predict(new.X)).ravel()
    if hasattr(model, "predict_quantiles"):
        std = np.sqrt(np.asarray(model.predict_var(new.X)).ravel())
    elif hasattr(model, "pred_dist"):
        std = model.pred_dist(new.X).dist.std()
    elif "quantile" in type(model).__module__:
        many = model.predict(new.X, quantiles=np.linspace(0.0025, 0.9975, 200).tolist())
        mean, std = many.mean(axis=1), many.std(axis=1)
    else:
        std = model.predict(new.X, return_std=True)[1]
    assert_allclose(risk.predict_risk(new.X), (f - mean) ** 2 + std**2, rtol=0.05)
    assert np.isfinite(risk.held_out_.risks).all()
    share = risk.predict_exceedance(new.X, risk.predict_loss_quantiles(new.X, [0.75])[:, 0])
    assert (share <= 0.25 + 1e-6).all()


# -- the correction -----------------------------------------------------------------------------


def test_a_predictor_that_knows_more_than_the_distribution():
    """f sees what x does not show: the plug-in takes f's knowledge for error, the hybrid not."""
    rng = np.random.default_rng(0)
    X, hidden = rng.normal(size=(2000, 3)), rng.normal(size=2000)
    y = hidden + 0.3 * rng.normal(size=2000)
    external = {"loss": "squared_error", "distribution": QUICK, "random_state": 0}
    found = {}
    for kind in (PlugInRisk, HybridRisk):
        risk = kind("precomputed", **external).fit(X, y, prediction=hidden)
        found[kind] = risk.predict_risk(X, prediction=hidden)
    assert found[PlugInRisk].mean() > 1.5  # the truth is 0.09
    assert abs(found[HybridRisk].mean() - 0.09) < 0.05
    parts = risk.decompose_risk(X, prediction=hidden)
    assert_allclose(sum(parts), found[HybridRisk])
    assert parts.correction.mean() < -1


def test_a_regressor_of_the_correction_is_used(world):
    risk = HybridRisk(Ridge(), distribution=QUICK, regressor=Ridge(), random_state=0)
    risk.fit(world.X, world.y)
    plain = PlugInRisk(Ridge(), distribution=QUICK, random_state=0).fit(world.X, world.y)
    inputs = plain.decompose_risk(world.X)
    corrected = risk.predict_risk(world.X)
    assert_allclose(risk.decompose_risk(world.X).floor, inputs.floor)
    assert not np.allclose(corrected, plain.predict_risk(world.X))
    assert risk.regressor_.n_features_in_ == 5  # no columns of x
    wide = HybridRisk(Ridge(), distribution=QUICK, regressor=Ridge(), features="plug-in+x")
    assert wide.fit(world.X, world.y).regressor_.n_features_in_ == 10


def test_held_out_risks_are_corrected_by_the_regressor_as_new_ones_are(rows):
    """A law whose variance is too small by four, and a constant for what it lacks."""
    X, y = rows[0], rows[0][:, 0] + 2 * (rows[1] - rows[0][:, 0])
    known = FrozenEstimator(TrueNormal().fit(X, y))
    risk = HybridRisk(known, distribution=TrueNormal(), regressor=DummyRegressor()).fit(X, y)
    lost = risk.held_out_.losses.mean()
    assert risk.predict_risk(X).mean() == pytest.approx(lost)
    # By the other folds' constants, the mean of which, of five equal folds, is the same.
    assert risk.held_out_.risks.mean() == pytest.approx(lost)


def test_where_the_plug_in_is_right_nothing_is_corrected():
    shares = []
    for seed in range(5):
        sample = make_heteroscedastic(300, random_state=seed)
        risk = HybridRisk(LinearRegression(), distribution=QUICK, random_state=seed)
        shares.append(risk.fit(sample.X, sample.y).correction_.shares.sum())
    assert np.median(shares) < 0.3


# -- AutoRisk ------------------------------------------------------------------------------------


def test_auto_risk_of_a_given_regressor_beats_a_forest_on_its_losses():
    """f is a line, the mean is bent: known where it is off, from y and not from noisy losses."""
    rng = np.random.default_rng(0)

    def draw(n):
        X = rng.uniform(-2, 2, size=(n, 3))
        return X, X[:, 0] ** 2 + X[:, 1] + 0.5 * rng.normal(size=n)

    (X, y), (X_new, _) = draw(400), draw(2000)
    risk = AutoRisk(LinearRegression(), random_state=0).fit(X, y)
    truth = (risk.predict(X_new) - X_new[:, 0] ** 2 - X_new[:, 1]) ** 2 + 0.25
    forest = RandomForestRegressor(random_state=0).fit(X, (y - risk.predict(X)) ** 2)
    error = np.mean((risk.predict_risk(X_new) - truth) ** 2)
    assert error < 0.4 * np.mean((forest.predict(X_new) - truth) ** 2)
    assert_allclose(sum(risk.decompose_risk(X_new)), risk.predict_risk(X_new))


def test_auto_risk_trusts_the_plug_in_where_f_is_further_off_than_ever(world):
    risk = AutoRisk(LinearRegression(), random_state=0).fit(world.X, world.y)
    far = np.array([[0.0, 500.0, 0, 0, 0]])
    floor, gap, _ = risk.decompose_risk(far)
    if floor[0] + gap[0] > 10 * risk.held_out_.risks.max():
        assert risk.predict_risk(far)[0] > 5 * risk.held_out_.risks.max()


def test_parts_of_a_built_predictor_and_of_losses_alone(world):
    risk = AutoRisk(random_state=0).fit(world.X[:200], world.y[:200])
    floor, gap, _ = risk.decompose_risk(world.X)
    assert_allclose(gap, 0, atol=1e-9)  # its own mean is the best answer
    assert (floor > 0).all()
    alone = AutoRisk("precomputed", random_state=0).fit(world.X, loss=world.y**2)
    with pytest.raises(ValueError, match="no distribution of the target here"):
        alone.decompose_risk(world.X, prediction=world.y)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_beyond_all_bounds_have_a_risk_that_is_a_number(kind, world):
    """The square of 1e25 is more than trees take, that of 1e200 more than floats hold."""
    boosting = HistGradientBoostingRegressor(max_iter=10)
    risk = kind(Ridge(), distribution=DistributionRegressor(boosting, random_state=0))
    risk.fit(world.X, world.y)
    far = np.zeros((2, world.X.shape[1]))
    far[:, 0] = 1e25, 1e200
    risks = risk.predict_risk(far)
    assert np.isfinite(risks).all()
    assert risks.min() > 1e40


def test_a_prediction_further_off_than_any_before_keeps_its_gap():
    """Where f was always right, a gap is the error of m; not so for predictions never seen."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    truth = 2 * X[:, 0]
    y = truth + 0.3 * rng.normal(size=300)
    boosting = HistGradientBoostingRegressor(max_iter=10, random_state=0)
    law = DistributionRegressor(boosting)
    risk = HybridRisk("precomputed", loss="squared_error", distribution=law, random_state=0)
    risk.fit(X, y, prediction=truth)
    _, gap, correction = risk.decompose_risk(X, prediction=truth)
    assert correction.mean() < -0.5 * gap.mean()
    assert np.median(risk.predict_risk(X, prediction=truth + 10.0)) > 40
