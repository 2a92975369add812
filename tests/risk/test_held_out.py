"""`held_out_`: losses of held-out rows, and risks that were estimated without them."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from condrisk import AutoRisk, BudgetRule, Deferral, HybridRisk, PlugInRisk, RegressionRisk
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic

WORLD = make_heteroscedastic(300, random_state=0)
X, Y = WORLD.X, WORLD.y
CLASSES = make_gaussian_mixture(300, random_state=0)
OTHER, OTHER_CLASSES = WORLD.sample(100, random_state=9), CLASSES.sample(100, random_state=9)
FROZEN = FrozenEstimator(LinearRegression().fit(OTHER.X, OTHER.y))
FROZEN_CLASSIFIER = FrozenEstimator(LogisticRegression().fit(OTHER_CLASSES.X, OTHER_CLASSES.y))


class Memory(RegressorMixin, BaseEstimator):
    """Knows the target of every row that it has seen, and nothing else."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        self.known_ = {row.tobytes(): value for row, value in zip(np.asarray(X), y, strict=True)}
        return self

    def predict(self, X):
        return np.array([self.known_.get(row.tobytes(), -1.0) for row in np.asarray(X)])


@pytest.mark.parametrize(
    "predictor",
    [LinearRegression(), FROZEN, "precomputed"],
    ids=["cross-fitted", "frozen", "precomputed"],
)
def test_no_risk_has_seen_the_loss_of_its_row(predictor):
    risk = RegressionRisk(predictor, loss="squared_error", regressor=Memory(), clip=False)
    given = {"prediction": np.zeros(300)} if predictor == "precomputed" else {}
    held_out = risk.fit(X, Y, **given).held_out_
    assert_array_equal(held_out.rows, np.arange(300))
    factor = risk.refit_factor_  # one unless the predictor was fitted again
    assert_array_equal(held_out.risks, -factor)  # none is known
    assert_allclose(risk.predict_risk(X), factor * held_out.losses)  # the last fit has seen all


def test_nothing_is_estimated_before_somebody_asks():
    Memory.fits = 0
    risk = RegressionRisk(LinearRegression(), regressor=Memory()).fit(X, Y)
    Deferral(risk, cost=1.0).fit(X, Y).decide(X)
    assert Memory.fits == 2  # of the risk, and of its clone in the Deferral
    first = risk.held_out_
    assert Memory.fits == 7
    assert risk.held_out_ is first


def test_against_a_plain_loop():
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), random_state=3).fit(X, Y)
    folds = list(KFold(5, shuffle=True, random_state=3).split(X))
    losses, risks = np.empty(300), np.empty(300)
    for train, test in folds:
        losses[test] = (LinearRegression().fit(X[train], Y[train]).predict(X[test]) - Y[test]) ** 2
    for train, test in folds:
        risks[test] = np.maximum(Ridge().fit(X[train], losses[train]).predict(X[test]), 0)
    assert_allclose(risk.held_out_.losses, losses)
    # Fitted on halves the predictor loses more, and on all rows less by a third of that.
    halved = np.empty(300)
    for train, test in KFold(2, shuffle=True, random_state=3).split(X):
        halved[test] = (LinearRegression().fit(X[train], Y[train]).predict(X[test]) - Y[test]) ** 2
    factor = min(1, 1 - (halved.mean() / losses.mean() - 1) / 3)
    assert_allclose(risk.held_out_.risks, factor * risks)


def test_rows_of_one_split_and_of_repeated_ones():
    one = RegressionRisk(
        LinearRegression(), regressor=Ridge(), cv=ShuffleSplit(1, random_state=0), refit=False
    ).fit(X, Y, sample_weight=np.arange(1.0, 301.0))
    [(_, test)] = ShuffleSplit(1, random_state=0).split(X)
    assert_array_equal(one.held_out_.rows, np.sort(test))
    assert_array_equal(one.held_out_.weights, np.sort(test) + 1.0)
    thrice = RegressionRisk(
        LinearRegression(), regressor=Ridge(), cv=RepeatedKFold(n_repeats=3, random_state=0)
    ).fit(X, Y)
    assert_array_equal(thrice.held_out_.rows, np.arange(300))


def test_a_row_that_is_held_out_twice_does_not_teach_its_own_risk():
    twice = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    risk = RegressionRisk(LinearRegression(), regressor=Memory(), clip=False, cv=twice)
    held_out = risk.fit(X, Y).held_out_
    assert_array_equal(held_out.rows, np.arange(300))
    assert_array_equal(held_out.risks, -1.0)  # of neither of its two losses


def test_a_split_that_trains_on_what_it_holds_out_is_refused():
    everything = np.arange(300)
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), cv=[(everything, everything[:9])])
    with pytest.raises(ValueError, match="cv gives a split that holds out rows it also trains on"):
        risk.fit(X, Y)


class Noting(GaussianNB):
    """Notes which rows it is fitted on, by their first feature, and their labels."""

    fits = ()

    def fit(self, X, y, sample_weight=None):
        type(self).fits += ((X[:, 0].astype(int), y),)
        return super().fit(X, y, sample_weight)


def test_every_fold_has_its_share_of_a_rare_class():
    y = np.repeat(["common", "rare"], [95, 5])
    Noting.fits = ()
    RegressionRisk(Noting(), loss="brier", regressor=Ridge(), random_state=0).fit(X[:100], y)
    assert sorted(np.sum(labels == "rare") for _, labels in Noting.fits) == [2, 3, 4, 4, 4, 4, 4, 5]


@pytest.mark.parametrize("calibration", ["temperature", "sigmoid"])
def test_with_one_split_no_model_has_seen_the_rows_that_calibrate_it(calibration):
    rows = np.column_stack([np.arange(300), CLASSES.X])
    Noting.fits = ()
    risk = PlugInRisk(
        LogisticRegression(max_iter=1000),
        probability=Noting(),
        calibration=calibration,
        cv=ShuffleSplit(1, test_size=0.3, random_state=0),
        refit=False,
    ).fit(rows, CLASSES.y)
    [(seen, _)] = Noting.fits
    assert len(seen) == 210
    assert not set(seen) & set(risk.held_out_.rows)


@pytest.mark.parametrize("calibration", [None, "temperature"])
@pytest.mark.parametrize("frozen", [False, True])
def test_plug_in_probabilities_have_not_seen_the_row(frozen, calibration):
    """A deep tree is right about rows that it has seen, and about those alone."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(300, 3)), rng.integers(0, 2, size=300)  # nothing can be known
    predictor = LogisticRegression()
    if frozen:
        predictor = FrozenEstimator(predictor.fit(rng.normal(size=(300, 3)), rng.permutation(y)))
    tree = DecisionTreeClassifier(random_state=0)
    risk = PlugInRisk(predictor, probability=tree, calibration=calibration, random_state=0)
    risk.fit(rows, y)
    held_out = risk.held_out_
    agreement = np.corrcoef(held_out.risks, held_out.losses)[0, 1]
    assert abs(agreement) < 0.25  # one that had seen the rows would have 1


def test_hybrid_and_automatic_estimates_have_them_too():
    for risk in (
        HybridRisk(FROZEN_CLASSIFIER, regressor=Memory(), clip=False),
        HybridRisk(LogisticRegression(), regressor=Memory(), clip=False),
    ):
        assert_array_equal(risk.fit(CLASSES.X, CLASSES.y).held_out_.risks, -1.0)
    for predictor in (FROZEN_CLASSIFIER, LogisticRegression(), None):
        risk = AutoRisk(predictor, task="classification" if predictor is None else None)
        risk.set_params(time_budget=0, random_state=0).fit(CLASSES.X, CLASSES.y)
        assert len(risk.held_out_.risks) == 300


def test_hybrid_folds_follow_the_seed():
    found = [
        HybridRisk(FROZEN_CLASSIFIER, probability=FROZEN_CLASSIFIER, random_state=seed).fit(
            CLASSES.X, CLASSES.y
        )
        for seed in (0, 0, 1)
    ]
    assert found[0].scale_ == found[1].scale_ != found[2].scale_
    risks = [risk.held_out_.risks for risk in found]
    assert_array_equal(risks[0], risks[1])
    assert not np.array_equal(risks[0], risks[2])


def test_groups_stay_together():
    groups = np.repeat(np.arange(30), 10)
    rows = np.column_stack([groups, X])
    frozen = FrozenEstimator(LinearRegression().fit(rows, Y))
    for predictor in (LinearRegression(), frozen):
        risk = RegressionRisk(predictor, regressor=GroupMean())
        held_out = risk.fit(rows, Y, groups=groups).held_out_
        assert_array_equal(held_out.groups, groups)
        assert_array_equal(held_out.risks, 0.0)  # every group was new
    labels = (X[:, 1] > 0).astype(int)
    risk = RegressionRisk(LogisticRegression(max_iter=1000), regressor=GroupMean())
    assert_array_equal(risk.fit(rows, labels, groups=groups).held_out_.risks, 0.0)


class GroupMean(RegressorMixin, BaseEstimator):
    """The mean of a group that it has seen, by the first feature; zero for a new group."""

    def fit(self, X, y):
        self.means_ = {g: y[X[:, 0] == g].mean() for g in np.unique(X[:, 0])}
        return self

    def predict(self, X):
        return np.array([self.means_.get(g, 0.0) for g in X[:, 0]])


@pytest.mark.parametrize("asked", [False, True], ids=["before", "after"])
def test_copies_and_pickles_keep_them(asked):
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), random_state=0).fit(X, Y)
    if asked:
        expected = risk.held_out_
    for other in (copy.deepcopy(risk), pickle.loads(pickle.dumps(risk))):
        found = other.held_out_
        expected = risk.held_out_
        assert_array_equal(found.risks, expected.risks)
        assert_array_equal(found.losses, expected.losses)


def test_rows_are_let_go_once_their_risks_are_estimated():
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), random_state=0).fit(X, Y)
    before = len(pickle.dumps(risk))
    assert len(risk.held_out_.rows) == 300
    assert len(pickle.dumps(risk)) < before


def test_rows_changed_after_fit_do_no_harm():
    rows = X.copy()
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), random_state=0).fit(rows, Y)
    expected = copy.deepcopy(risk).held_out_.risks
    rows[:] = 0.0
    assert_array_equal(risk.held_out_.risks, expected)


def test_at_most_so_many_rows_are_kept():
    """A sum that a line knows: each risk has to be that of its own row."""
    rows = np.random.default_rng(0).normal(size=(50_200, 2))
    loss = rows.sum(axis=1)
    risk = RegressionRisk("precomputed", regressor=LinearRegression(), random_state=0)
    risk.fit(rows, loss=loss, sample_weight=1 + rows[:, 0] ** 2)
    held_out = risk.held_out_
    assert len(np.unique(held_out.rows)) == len(held_out.rows) == 50_000
    assert held_out.rows.max() >= 50_000  # drawn, not the first ones
    assert_allclose(held_out.losses, loss[held_out.rows])
    assert_allclose(held_out.risks, loss[held_out.rows], atol=1e-9)
    assert_allclose(held_out.weights, 1 + rows[held_out.rows, 0] ** 2)


def test_a_single_row_has_no_held_out_risk():
    risk = RegressionRisk(FROZEN, regressor=Ridge()).fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="held_out_ needs at least two"):
        risk.held_out_  # noqa: B018
    with pytest.raises(AttributeError, match="not fitted"):
        RegressionRisk(FROZEN).held_out_  # noqa: B018


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["frozen", "cross-fitted"])
def test_a_budget_is_kept_on_new_rows_where_there_is_nothing_to_learn(kind):
    """Risks that have seen their rows' losses follow the noise, and defer a third of the rate."""

    def draw(n, rng):
        rows = rng.normal(size=(n, 5))
        return rows, rows[:, 0] + rng.normal(size=n)

    rates = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        predictor = LinearRegression()
        if kind == "frozen":
            predictor = FrozenEstimator(predictor.fit(*draw(1000, rng)))
        regressor = RandomForestRegressor(10, random_state=seed)
        risk = RegressionRisk(predictor, regressor=regressor, random_state=seed)
        model = Deferral(risk, rule=BudgetRule(0.1)).fit(*draw(1000, rng))
        rates.append(model.defer(draw(2000, rng)[0]).mean())
    assert np.mean(rates) == pytest.approx(0.1, abs=0.01)


def test_a_sample_of_held_out_rows_is_from_every_fold_alike(seed):
    """Folds of the same seed are stretches of its permutation: the sample is of another one."""
    many = make_heteroscedastic(60_000, n_features=1, random_state=seed)
    risk = RegressionRisk(
        LinearRegression(), regressor=LinearRegression(), cv=5, random_state=seed
    ).fit(many.X, many.y)
    held_out = risk.held_out_
    assert len(held_out.rows) == 50_000
    folds = [own for _, own in KFold(5, shuffle=True, random_state=seed).split(many.X)]
    shares = [len(np.intersect1d(held_out.rows, own)) / len(own) for own in folds]
    assert_allclose(shares, 5 / 6, atol=0.03)


def test_a_predictor_is_kept_of_one_split_alone():
    for n_splits in (2, 3):
        risk = RegressionRisk(LinearRegression(), cv=n_splits, refit=False)
        with pytest.raises(ValueError, match=f"but cv gives {n_splits}"):
            risk.fit(np.arange(20.0)[:, None], np.arange(20.0))
