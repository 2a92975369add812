"""Truth and prediction ± √risk over rows sorted by target."""

import inspect
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import Deferral, PlugInRisk, RegressionRisk, huber, make_loss, pinball
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.plots import RiskProfileDisplay

draw = RiskProfileDisplay.from_predictions


@pytest.fixture
def rows(seed):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=60)
    return truth, truth + rng.normal(size=60), rng.exponential(size=60)


@pytest.fixture(scope="module")
def world():
    return make_heteroscedastic(150, random_state=0)


def fitted(world, loss=None):
    risk = RegressionRisk(
        LinearRegression(), loss=loss, regressor=LinearRegression(), random_state=0
    )
    return risk.fit(world.X, world.y)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def bar_ends(display):
    return np.array([segment[:, 1] for segment in display.bars_.get_segments()])


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_artists_show_the_rows_sorted_by_target(rows, loss):
    truth, prediction, risk = rows
    drawn = draw(truth, prediction, risk, loss=loss)
    order = np.argsort(truth)
    position = (np.arange(60) + 0.5) / 60
    assert_allclose(drawn.truth_.get_xydata(), np.column_stack([position, truth[order]]))
    assert_allclose(drawn.prediction_.get_xydata(), np.column_stack([position, prediction[order]]))
    size = np.sqrt(risk[order]) if loss == "squared_error" else risk[order]
    low, high = prediction[order] - size, prediction[order] + size
    assert_allclose(bar_ends(drawn), np.column_stack([low, high]))
    assert drawn.figure_ is drawn.ax_.figure


def test_order_of_the_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 3, size=(3, 50)).astype(float)  # many ties
    first, second = draw(*columns), draw(*columns[:, rng.permutation(50)])
    assert_array_equal(first.prediction_.get_xydata(), second.prediction_.get_xydata())
    assert_array_equal(bar_ends(first), bar_ends(second))


def test_weight_is_the_width_of_a_row():
    columns = [[1.0, 3.0, 2.0, 9.0]] * 3
    drawn = draw(*columns, sample_weight=[1.0, 2.0, 1.0, 0.0])
    assert_allclose(drawn.truth_.get_xydata(), [[0.125, 1.0], [0.375, 2.0], [0.75, 3.0]])


def test_negative_risk_counts_as_zero():
    assert_array_equal(draw([1.0, 2.0], [1.0, 2.0], [-1.0, 4.0]).error_size, [0.0, 2.0])


@pytest.mark.parametrize(("loss", "size"), [("squared_error", "√risk"), ("absolute_error", "risk")])
def test_legend_says_what_the_bars_are(rows, loss, size):
    assert legend(draw(*rows, loss=loss)) == ["Truth", f"prediction ± {size}"]
    assert legend(draw(*rows, loss=loss, name="mine"))[1] == f"mine: prediction ± {size}"
    assert legend(draw(*rows, loss=loss, name="mine").plot(name="yours"))[1].startswith("yours:")


def test_many_rows_are_thinned_evenly(seed):
    rng = np.random.default_rng(seed)
    n = 10_000
    truth, noise, risk = rng.normal(size=(3, n))
    drawn = draw(truth, truth + noise, risk**2)
    x, y = drawn.truth_.get_data()
    assert len(x) == len(drawn.prediction_.get_xdata()) == len(bar_ends(drawn)) == 400
    assert (y[0], y[-1]) == (truth.min(), truth.max())
    assert np.ptp(np.diff(x)) < 2 / n
    assert "400 of 10,000" in drawn.ax_.get_xlabel()
    assert len(drawn.y_true) == n


def test_few_rows_are_all_drawn(rows):
    assert "drawn" not in draw(*rows).ax_.get_xlabel()


def test_truth_is_drawn_once_for_the_same_rows(rows):
    truth, prediction, risk = rows
    first = draw(truth, prediction, risk, name="one")
    second = draw(truth, prediction + 1, risk, name="two", ax=first.ax_)
    assert second.truth_ is first.truth_
    assert second.ax_ is first.ax_
    assert legend(second) == [
        "Truth",
        "one: prediction ± √risk",
        "two: prediction ± √risk",
    ]
    assert first.prediction_.get_color() != second.prediction_.get_color()
    third = draw(truth + 1, prediction, risk, ax=first.ax_)
    assert third.truth_ is not first.truth_
    assert third.truth_.get_color() == third.prediction_.get_color()


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_truth_has_the_colour_of_the_text(rows, style):
    with plt.style.context(style):
        assert draw(*rows).truth_.get_color() == plt.rcParams["axes.labelcolor"] != "#808080"


WRAPPERS = {
    "RegressionRisk": lambda risk: risk,
    "frozen": FrozenEstimator,
    "Deferral": lambda risk: Deferral(risk, cost=1.0),
    "Deferral of a frozen risk": lambda risk: Deferral(FrozenEstimator(risk), cost=1.0),
    "Pipeline": lambda risk: make_pipeline(StandardScaler(), clone(risk)),
    "GridSearchCV": lambda risk: GridSearchCV(risk, {"clip": [True]}, cv=2),
    "Deferral of a Pipeline": lambda risk: Deferral(make_pipeline(StandardScaler(), risk)),
}


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_from_estimator_is_from_predictions(world, wrap, loss):
    known = fitted(world, loss)
    weight = world.X[:, 0] ** 2
    estimator = pickle.loads(pickle.dumps(wrap(known).fit(world.X, world.y)))
    drawn = RiskProfileDisplay.from_estimator(
        estimator, world.X, world.y, sample_weight=weight, name="m"
    )
    risk, prediction = known.predict_risk(world.X), known.predict(world.X)
    other = draw(world.y, prediction, risk, loss=loss, sample_weight=weight, name="m")
    assert_allclose(drawn.prediction_.get_xydata(), other.prediction_.get_xydata(), rtol=1e-9)
    assert_allclose(drawn.truth_.get_xydata(), other.truth_.get_xydata())
    assert_allclose(bar_ends(drawn), bar_ends(other), rtol=1e-9)
    assert legend(drawn) == legend(other)


def test_predictor_that_lives_elsewhere(world):
    prediction = world.X[:, 0]
    risk = RegressionRisk("precomputed", loss="squared_error", regressor=LinearRegression())
    risk.fit(world.X, world.y, prediction=prediction)
    drawn = RiskProfileDisplay.from_estimator(risk, world.X, world.y, prediction=prediction)
    assert_array_equal(drawn.y_pred, prediction[np.argsort(world.y)])
    assert legend(drawn)[1].startswith("RegressionRisk:")


@pytest.mark.parametrize("wrap", [lambda risk: risk, Deferral])
def test_classifiers_are_refused(wrap):
    world = make_gaussian_mixture(100, random_state=0)
    model = wrap(PlugInRisk(LogisticRegression())).fit(world.X, world.y)
    with pytest.raises(ValueError, match="estimator: RiskProfileDisplay is for regressors"):
        RiskProfileDisplay.from_estimator(model, world.X, world.y)


def squared_error(y_true, y_pred):
    return 7.0 * (y_true - y_pred) ** 2


@pytest.mark.parametrize(
    "loss",
    [huber(1.0), pinball(0.9), squared_error, make_loss(squared_error)],
    ids=["huber", "pinball", "function", "make_loss"],
)
def test_losses_in_other_units_are_refused(world, loss):
    with pytest.raises(ValueError, match=r"estimator: .* units of the target, .* not under"):
        RiskProfileDisplay.from_estimator(fitted(world, loss), world.X, world.y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loss": "log_loss"}, r"loss must be one of .* got 'log_loss'"),
        ({"y_true": [1.0, np.nan]}, "y_true must be finite"),
        ({"y_pred": [1.0]}, "y_pred and y_true must have the same length"),
        ({"risk": [[1.0, 1.0]]}, "risk must be one-dimensional"),
        ({"y_true": [], "y_pred": [], "risk": []}, "y_true is empty"),
        ({"sample_weight": [0.0, 0.0]}, "sample_weight must have a positive"),
        ({"sample_weight": [1.0]}, "sample_weight and y_true must have the same length"),
    ],
)
def test_bad_input_is_named_and_nothing_is_drawn(arguments, message):
    given = {"y_true": [1.0, 2.0], "y_pred": [1.0, 2.0], "risk": [1.0, 2.0]} | arguments
    with pytest.raises(ValueError, match=message):
        draw(**given)
    assert plt.get_fignums() == []


def test_labels_are_not_numbers():
    with pytest.raises(TypeError, match="y_true must be made of real numbers"):
        draw(["a", "b"], [1.0, 2.0], [1.0, 1.0])


def test_options_are_keyword_only():
    for method, n_data in [("from_estimator", 3), ("from_predictions", 3), ("plot", 1)]:
        method = getattr(draw([1.0], [1.0], [1.0]), method)
        parameters = inspect.signature(method).parameters.values()
        assert sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters) == n_data


def test_keywords_reach_dots_and_bars(rows):
    drawn = draw(*rows, marker="s", ecolor="red", elinewidth=3)
    assert drawn.prediction_.get_marker() == "s"
    assert_allclose(drawn.bars_.get_linewidth(), 3)
    assert_allclose(drawn.bars_.get_color()[0], [1, 0, 0, 1])


def test_one_row():
    draw([1.0], [1.5], [0.25]).figure_.canvas.draw()
