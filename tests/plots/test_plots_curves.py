"""The three displays of losses and risks: what is drawn is what `condrisk.metrics` says."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import Deferral, PlugInRisk, RegressionRisk, metrics
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.plots import CostCurveDisplay, RiskCalibrationDisplay, RiskCoverageDisplay

DISPLAYS = [RiskCoverageDisplay, RiskCalibrationDisplay, CostCurveDisplay]
ORDER_OF_LEGEND = {
    RiskCoverageDisplay: ["Oracle", "Mean loss"],
    RiskCalibrationDisplay: ["Perfectly calibrated"],
    CostCurveDisplay: ["Always defer", "Never defer", "Oracle"],
}


@pytest.fixture
def rows(seed):
    rng = np.random.default_rng(seed)
    risk = rng.exponential(size=80)
    return risk * rng.exponential(size=80), risk, rng.integers(1, 4, 80).astype(float)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def same_drawing(one, other):
    """Compare all lines and points of two axes."""
    for first, second in zip(one.ax_.lines, other.ax_.lines, strict=True):
        assert_allclose(first.get_xydata(), second.get_xydata(), rtol=1e-12, atol=1e-12)
    for first, second in zip(one.ax_.collections, other.ax_.collections, strict=True):
        assert_allclose(first.get_offsets(), second.get_offsets(), rtol=1e-12)
    assert legend(one) == legend(other)


# -- all three ---------------------------------------------------------------------------------


def regression(n=150):
    world = make_heteroscedastic(n, random_state=0)
    return RegressionRisk(LinearRegression(), regressor=LinearRegression(), random_state=0), world


ESTIMATORS = {
    "RegressionRisk": lambda risk: risk,
    "Deferral": lambda risk: Deferral(risk, cost=1.0),
    "Pipeline": lambda risk: make_pipeline(StandardScaler(), risk),
    "GridSearchCV": lambda risk: GridSearchCV(risk, {"clip": [True]}, cv=2),
    "Deferral of a Pipeline": lambda risk: Deferral(make_pipeline(StandardScaler(), risk)),
}


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("wrap", ESTIMATORS.values(), ids=ESTIMATORS)
def test_from_estimator_is_from_predictions(display, wrap):
    risk, world = regression()
    estimator = wrap(risk).fit(world.X, world.y)
    weight = world.X[:, 0] ** 2
    # All of them end in the same model: a linear one does not mind the scaling of its features.
    known = clone(risk).fit(world.X, world.y)
    same_drawing(
        display.from_estimator(estimator, world.X, world.y, sample_weight=weight, name="m"),
        display.from_predictions(
            known.loss_values(world.X, world.y),
            known.predict_risk(world.X),
            sample_weight=weight,
            name="m",
        ),
    )


@pytest.mark.parametrize("display", DISPLAYS)
def test_from_estimator_of_a_classifier(display):
    world = make_gaussian_mixture(200, random_state=0)
    risk = PlugInRisk(LogisticRegression(), loss="log_loss").fit(world.X, world.y)
    drawn = display.from_estimator(risk, world.X, world.y)
    loss = risk.loss_values(world.X, world.y)
    same_drawing(
        drawn, display.from_predictions(loss, risk.predict_risk(world.X), name="PlugInRisk")
    )


@pytest.mark.filterwarnings("ignore:the predictor is worse")  # a made-up predictor
@pytest.mark.parametrize("display", DISPLAYS)
def test_predictor_that_lives_elsewhere(display):
    _, world = regression()
    prediction = world.X @ np.arange(5)
    risk = RegressionRisk("precomputed", loss="squared_error", regressor=LinearRegression())
    risk.fit(world.X, world.y, prediction=prediction)
    drawn = display.from_estimator(risk, world.X, world.y, prediction=prediction, name="m")
    loss = (world.y - prediction) ** 2
    same_drawing(drawn, display.from_predictions(loss, risk.predict_risk(world.X), name="m"))


@pytest.mark.parametrize("display", DISPLAYS)
def test_default_name_is_the_class_that_knows_the_risk(display):
    risk, world = regression()
    model = make_pipeline(StandardScaler(), risk).fit(world.X, world.y)
    drawn = display.from_estimator(model, world.X, world.y)
    assert legend(drawn)[0].startswith("RegressionRisk")


@pytest.mark.parametrize("display", DISPLAYS)
def test_name_in_legend(display, rows):
    loss, risk, _ = rows
    drawn = display.from_predictions(loss, risk, name="mine")
    assert legend(drawn)[0].startswith("mine")
    assert legend(drawn)[1:] == ORDER_OF_LEGEND[display]
    assert legend(drawn.plot(name="yours"))[0].startswith("yours")
    assert legend(drawn.plot())[0].startswith("mine")


@pytest.mark.parametrize("display", DISPLAYS)
def test_two_risks_of_one_predictor_share_the_references(display, rows):
    loss, risk, _ = rows
    first = display.from_predictions(loss, risk, name="one")
    before = len(first.ax_.lines)
    second = display.from_predictions(loss, 2 * risk, name="two", ax=first.ax_)
    assert second.ax_ is first.ax_
    assert second.figure_ is first.figure_ is first.ax_.figure
    assert len(first.ax_.lines) == before + 1
    assert [label.split()[0] for label in legend(second)[:2]] == ["one", "two"]
    assert legend(second)[2:] == ORDER_OF_LEGEND[display]


@pytest.mark.parametrize("display", [RiskCoverageDisplay, CostCurveDisplay])
def test_another_predictor_has_its_own_references(display, rows):
    loss, risk, _ = rows
    first = display.from_predictions(loss, risk, name="one")
    second = display.from_predictions(loss**2, risk, name="two", ax=first.ax_)
    assert first.oracle_.get_color() == "#808080"
    assert second.oracle_.get_color() == second.line_.get_color()
    assert legend(second)[2:] == ORDER_OF_LEGEND[display]
    alone = display.from_predictions(loss**2, risk)
    assert_array_equal(second.oracle_.get_xydata(), alone.oracle_.get_xydata())
    # and a third display finds them
    assert display.from_predictions(loss**2, risk, ax=first.ax_).oracle_ is second.oracle_


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_curve_may_have_the_name_of_a_reference(display, rows):
    loss, risk, _ = rows
    for name in ORDER_OF_LEGEND[display]:
        first = display.from_predictions(loss, risk, reference=False, label=name)
        display.from_predictions(loss, risk, ax=first.ax_)
        second = display.from_predictions(loss, loss, ax=first.ax_)
        assert len(second.ax_.lines) == 3 + len(ORDER_OF_LEGEND[display])


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_references(display, rows):
    loss, risk, _ = rows
    drawn = display.from_predictions(loss, risk, reference=False)
    assert list(drawn.ax_.lines) == [drawn.line_]
    drawn.plot(reference=True)
    assert len(drawn.ax_.lines) == 1 + len(ORDER_OF_LEGEND[display])


@pytest.mark.parametrize("display", DISPLAYS)
def test_weight_of_two_is_a_row_given_twice(display, rows):
    loss, risk, weight = rows
    repeats = weight.astype(int)
    weighted = display.from_predictions(loss, risk, sample_weight=weight)
    repeated = display.from_predictions(np.repeat(loss, repeats), np.repeat(risk, repeats))
    assert_allclose(
        weighted.line_.get_xydata(), repeated.line_.get_xydata(), rtol=1e-12, atol=1e-12
    )
    unweighted = display.from_predictions(loss, risk).line_.get_xydata()
    assert not np.array_equal(weighted.line_.get_xydata(), unweighted)


@pytest.mark.parametrize("display", DISPLAYS)
def test_plot_twice_draws_the_same(display, rows):
    loss, risk, _ = rows
    once = display.from_predictions(loss, risk)
    first, ax = once.line_.get_xydata().copy(), once.ax_
    once.plot()
    assert once.ax_ is not ax
    assert_array_equal(once.line_.get_xydata(), first)


@pytest.mark.parametrize("display", DISPLAYS)
def test_options_are_keyword_only(display):
    for method, n_data in [("from_estimator", 3), ("from_predictions", 2), ("plot", 2)]:
        parameters = list(inspect.signature(getattr(display, method)).parameters.values())
        positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert len(positional) == n_data, method
    assert all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(display).parameters.values())


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loss": [1.0, np.nan]}, "loss must be finite"),
        ({"risk": [1.0]}, "risk and loss must have the same length"),
        ({"risk": [[1.0, 2.0]]}, "risk must be one-dimensional"),
        ({"loss": []}, "loss is empty"),
        ({"sample_weight": [1.0, -1.0]}, "sample_weight must not be negative"),
    ],
)
def test_bad_input_is_named_and_nothing_is_drawn(display, arguments, message):
    with pytest.raises(ValueError, match=message):
        display.from_predictions(**({"loss": [1.0, 2.0], "risk": [1.0, 2.0]} | arguments))
    assert plt.get_fignums() == []


@pytest.mark.parametrize("display", DISPLAYS)
def test_estimator_without_risk(display):
    _, world = regression()
    with pytest.raises(AttributeError, match="estimator: LinearRegression has no predict_risk"):
        display.from_estimator(LinearRegression().fit(world.X, world.y), world.X, world.y)


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize(
    ("loss", "risk"),
    [([2.0], [1.0]), ([0.0, 0.0], [0.0, 0.0]), ([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])],
    ids=["one row", "all zero", "constant risk"],
)
def test_degenerate_rows_can_be_drawn(display, loss, risk):
    drawn = display.from_predictions(loss, risk)
    drawn.figure_.canvas.draw()
    display.from_predictions(loss, risk, ax=drawn.ax_)
    drawn.figure_.canvas.draw()
    assert np.isfinite([drawn.ax_.get_xlim(), drawn.ax_.get_ylim()]).all()


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("display", DISPLAYS)
def test_keywords_reach_the_line(display, style, rows):
    with plt.style.context(style):
        drawn = display.from_predictions(rows[0], rows[1], lw=5, ls=":", label="own")
    assert drawn.line_.get_linewidth() == 5
    assert drawn.line_.get_linestyle() == ":"
    assert legend(drawn)[0] == "own"


# -- risk-coverage -----------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_coverage_line_goes_through_the_curve(rows, weighted):
    loss, risk, weight = rows
    weight = weight if weighted else None
    drawn = RiskCoverageDisplay.from_predictions(loss, risk, sample_weight=weight, name="m")
    for line, key in [(drawn.line_, risk), (drawn.oracle_, loss)]:
        curve = metrics.risk_coverage_curve(loss, key, sample_weight=weight)
        x, y = line.get_data()
        places = np.searchsorted(x, curve.coverage)
        assert_array_equal(x[places], curve.coverage)
        assert_allclose(y[places], curve.selective_loss, rtol=1e-12)
        assert (x[0], y[0]) == (0.0, curve.selective_loss[0])
        assert x[-1] == 1.0
    mean = np.average(loss, weights=weight)
    assert_allclose(drawn.mean_loss_.get_xydata(), [[0, mean], [1, mean]], rtol=1e-12)
    area = metrics.aurc(loss, risk, sample_weight=weight)
    assert drawn.aurc == area
    assert legend(drawn)[0] == f"m (AURC = {area:.3g})"


def test_area_under_the_drawn_line_is_aurc(seed):
    rng = np.random.default_rng(seed)
    risk = rng.integers(0, 4, 3000)  # wide blocks of ties
    loss = risk * rng.exponential(size=3000)
    for key in (risk, np.zeros(3000), loss):
        drawn = RiskCoverageDisplay.from_predictions(loss, key)
        x, y = drawn.line_.get_data()
        assert np.trapezoid(y, x) == pytest.approx(drawn.aurc, rel=1e-3)


def test_zero_one_oracle_in_closed_form(seed):
    rng = np.random.default_rng(seed)
    loss = (rng.uniform(size=500) < 0.3).astype(float)
    drawn = RiskCoverageDisplay.from_predictions(loss, rng.uniform(size=500))
    x, y = drawn.oracle_.get_data()
    right = 1 - loss.mean()
    assert len(x) > 100  # though the curve has two points
    assert_allclose(y[1:], np.maximum(0, x[1:] - right) / x[1:], atol=1e-12)


def test_long_curve_is_thinned(seed):
    rng = np.random.default_rng(seed)
    loss, risk = rng.exponential(size=(2, 100_000))
    drawn = RiskCoverageDisplay.from_predictions(loss, risk)
    curve = drawn.curve
    assert len(curve.coverage) == 100_000
    x, y = drawn.line_.get_data()
    assert len(x) <= 2000 + 101
    assert (x[-1], y[-1]) == (1.0, pytest.approx(curve.selective_loss[-1]))
    assert y[0] == curve.selective_loss[0]
    assert y.max() == pytest.approx(curve.selective_loss.max(), rel=1e-12)
    assert y.min() == pytest.approx(curve.selective_loss.min(), rel=1e-12)


def test_peak_of_the_first_rows_does_not_press_the_curve_flat():
    loss = np.where(np.arange(200) % 20 == 0, 1.0, 0.0)  # the first row is wrong: 1, then 1/2, …
    drawn = RiskCoverageDisplay.from_predictions(loss, np.arange(200))
    assert drawn.line_.get_ydata().max() == 1.0
    assert 0.1 < drawn.ax_.get_ylim()[1] < 0.2
    calm = RiskCoverageDisplay.from_predictions(loss[::-1], np.arange(200))
    assert calm.ax_.get_autoscaley_on()


# -- cost --------------------------------------------------------------------------------------


@pytest.mark.parametrize("costs", [None, [2.0, 0.5, 1.0]])
@pytest.mark.parametrize("weighted", [False, True])
def test_cost_lines_are_the_curve(rows, costs, weighted):
    loss, risk, weight = rows
    weight = weight if weighted else None
    drawn = CostCurveDisplay.from_predictions(loss, risk, costs=costs, sample_weight=weight)
    curve = metrics.cost_curve(loss, risk, costs=costs, sample_weight=weight)
    order = np.argsort(curve.cost)
    assert_array_equal(drawn.line_.get_xdata(), curve.cost[order])
    assert_array_equal(drawn.line_.get_ydata(), curve.deferral_loss[order])
    assert_array_equal(drawn.oracle_.get_xdata(), curve.cost[order])
    assert_array_equal(drawn.oracle_.get_ydata(), curve.oracle[order])
    assert_allclose(drawn.never_defer_.get_ydata(), np.average(loss, weights=weight))
    (x0, y0), (x1, y1) = drawn.always_defer_.get_xy1(), drawn.always_defer_.get_xy2()
    assert (x0, x1) == (y0, y1)
    assert x0 != x1


def test_longer_range_of_prices_lengthens_the_shared_oracle(rows):
    loss, risk, _ = rows
    first = CostCurveDisplay.from_predictions(loss, risk, costs=[0.0, 1.0])
    second = CostCurveDisplay.from_predictions(loss, risk, costs=[0.5, 1.0, 9.0], ax=first.ax_)
    assert second.oracle_ is first.oracle_
    x, y = first.oracle_.get_data()
    assert_array_equal(x, [0.0, 0.5, 1.0, 9.0])
    assert_allclose(y, [np.minimum(loss, cost).mean() for cost in x], rtol=1e-12)


def test_always_deferring_does_not_stretch_the_axes(rows):
    loss, risk, _ = rows
    drawn = CostCurveDisplay.from_predictions(loss, risk, costs=np.linspace(0, 50, 21))
    assert drawn.ax_.get_ylim()[1] < 1.2 * drawn.curve.deferral_loss.max()


# -- calibration -------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
@pytest.mark.parametrize("weighted", [False, True])
def test_calibration_points_are_the_curve(rows, strategy, weighted):
    loss, risk, weight = rows
    options = {
        "n_bins": 7,
        "strategy": strategy,
        "sample_weight": weight if weighted else None,
    }
    drawn = RiskCalibrationDisplay.from_predictions(loss, risk, **options)
    curve = metrics.risk_calibration_curve(loss, risk, **options)
    points = np.column_stack([curve.mean_risk, curve.mean_loss])
    assert_array_equal(drawn.line_.get_xydata(), points)
    assert_array_equal(drawn.points_.get_offsets(), points)
    areas, share = drawn.points_.get_sizes(), curve.weight / curve.weight.max()
    seen = areas > areas.min()
    assert_allclose(areas[seen] / areas.max(), share[seen])
    error = metrics.risk_calibration_error(loss, risk, **options)
    assert legend(drawn)[0] == f"calibration error = {error:.3g}"
    (x0, y0), (x1, y1) = drawn.diagonal_.get_xy1(), drawn.diagonal_.get_xy2()
    assert (x0, x1) == (y0, y1)
    assert x0 != x1


def test_bars_are_standard_errors_of_the_bins(rows):
    loss, risk, _ = rows
    drawn = RiskCalibrationDisplay.from_predictions(loss, risk, n_bins=8)
    bins = np.argsort(risk).reshape(8, 10)  # continuous: ten rows a bin
    expected = loss[bins].std(axis=1, ddof=1) / np.sqrt(10)
    assert_allclose(drawn.standard_error, expected, rtol=1e-12)
    ends = np.array([segment[:, 1] for segment in drawn.bars_.get_segments()])
    mean = loss[bins].mean(axis=1)
    assert_allclose(ends, np.column_stack([mean - 1.96 * expected, mean + 1.96 * expected]))


def test_standard_errors_do_not_depend_on_the_unit_of_the_weights(rows):
    loss, risk, weight = rows

    def error(sample_weight):
        return RiskCalibrationDisplay.from_predictions(
            loss, risk, sample_weight=sample_weight
        ).standard_error

    assert_allclose(error(weight), error(weight * 1e-3), rtol=1e-9)
    assert_allclose(error(np.full(80, 0.5)), error(None), rtol=1e-12)
    without = weight > 1
    kept = RiskCalibrationDisplay.from_predictions(
        loss[without], risk[without], sample_weight=weight[without]
    )
    assert_allclose(error(np.where(without, weight, 0.0)), kept.standard_error, rtol=1e-12)


def test_weighted_standard_errors_cover(seed):
    """Over many samples, the spread of weighted bin means is what the standard error says."""
    rng = np.random.default_rng(seed)
    risk = np.repeat([1.0, 2.0], 40)
    weight = rng.exponential(size=80)
    means, errors = [], []
    for _ in range(200):
        loss = rng.normal(size=80) * risk
        drawn = RiskCalibrationDisplay.from_predictions.__func__(
            NotDrawn, loss, risk, n_bins=2, sample_weight=weight
        )
        means.append(drawn.curve.mean_loss)
        errors.append(drawn.standard_error)
    assert_allclose(np.std(means, axis=0), np.mean(errors, axis=0), rtol=0.25)


class NotDrawn(RiskCalibrationDisplay):
    """Computes without drawing, for many samples."""

    def plot(self, ax=None, **kwargs):
        return self


def test_a_bin_of_one_row_has_no_bar():
    drawn = RiskCalibrationDisplay.from_predictions([1.0, 2.0, 4.0], [1.0, 1.0, 3.0], n_bins=2)
    assert_allclose(drawn.standard_error, [0.5, np.nan])
    drawn.figure_.canvas.draw()


def test_axes_are_logarithmic_where_bins_would_crowd():
    risk = np.geomspace(0.01, 100, 50)
    crowded = RiskCalibrationDisplay.from_predictions(risk * 1.1, risk)
    assert crowded.ax_.get_xscale() == crowded.ax_.get_yscale() == "log"
    crowded.figure_.canvas.draw()
    spread = RiskCalibrationDisplay.from_predictions(np.arange(1, 51.0), np.arange(1, 51.0))
    assert spread.ax_.get_xscale() == "linear"
    # What is on the axes decides for what is added, but a zero has no place on a logarithm.
    assert (
        RiskCalibrationDisplay.from_predictions(
            np.arange(1, 51.0), np.arange(1, 51.0), ax=crowded.ax_
        ).ax_.get_xscale()
        == "log"
    )
    assert (
        RiskCalibrationDisplay.from_predictions(np.zeros(50), risk, ax=crowded.ax_).ax_.get_xscale()
        == "linear"
    )
    assert (
        RiskCalibrationDisplay.from_predictions(risk, risk, ax=spread.ax_).ax_.get_xscale()
        == "linear"
    )
    zero = RiskCalibrationDisplay.from_predictions(np.where(risk < 1, 0, risk), risk)
    assert zero.ax_.get_xscale() == "linear"
