"""The picture of routing: what is drawn is what the curve says."""

import numpy as np

from condrisk.datasets import make_routing
from condrisk.plots import RoutingCurveDisplay
from condrisk.routing import ModelRouter, routing_curve


def test_curve_random_models_and_oracle_are_drawn():
    world = make_routing(300, random_state=0)
    risks = world.risk(world.X)
    shown = RoutingCurveDisplay.from_predictions(world.losses, risks, world.costs, name="true")
    curve = routing_curve(world.losses, risks, world.costs)
    np.testing.assert_allclose(shown.line_.get_ydata(), curve.loss)
    np.testing.assert_allclose(shown.oracle_.get_ydata(), curve.oracle_loss)
    np.testing.assert_allclose(shown.models_.get_ydata(), curve.model_loss)
    low, high = curve.ends
    assert shown.random_.get_xdata().tolist() == curve.model_cost[[low, high]].tolist()
    labels = [text.get_text() for text in shown.ax_.texts]
    assert labels == ["small", "medium", "large"]
    assert shown.ax_.get_legend().get_texts()[0].get_text() == "true"
    plain = RoutingCurveDisplay(curve=curve).plot(reference=False)
    assert plain.random_ is None
    assert len(plain.ax_.lines) == 1


def test_own_colour_wins_and_a_second_curve_has_another():
    world = make_routing(100, random_state=0)
    arguments = world.losses, world.risk(world.X), world.costs
    first = RoutingCurveDisplay.from_predictions(*arguments)
    second = RoutingCurveDisplay.from_predictions(*arguments, ax=first.ax_)
    assert first.line_.get_color() != second.line_.get_color()
    assert second.oracle_ is first.oracle_  # the same losses have the same oracle
    assert RoutingCurveDisplay.from_predictions(*arguments, c="red").line_.get_color() == "red"


def test_a_router_is_drawn_on_rows_that_it_has_not_seen():
    world = make_routing(200, n_models=2, random_state=0)
    router = ModelRouter(world.costs, random_state=0).fit(world.X, world.losses)
    new = world.sample(100, random_state=1)
    shown = RoutingCurveDisplay.from_estimator(router, new.X, new.losses)
    expected = routing_curve(new.losses, router.predict_risk(new.X), world.costs)
    np.testing.assert_allclose(shown.line_.get_ydata(), expected.loss)
