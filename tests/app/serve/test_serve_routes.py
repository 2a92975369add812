"""POST /route: which model answers, and what is refused."""

import asyncio

import httpx
import numpy as np
import pytest

from condrisk.app.models import open_router
from condrisk.app.serve import create_router_app
from condrisk.datasets import make_routing
from condrisk.routing import ModelRouter


@pytest.fixture(scope="module")
def router():
    world = make_routing(300, n_models=2, random_state=0)
    fitted = ModelRouter(world.costs, random_state=0).fit(world.X, world.losses)
    return open_router(fitted, schema=world.X)


def ask(router, *bodies, path="/route", **options):
    """Return the responses to requests that are sent at once."""

    async def run():
        app = create_router_app(router, **options)
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://here") as client,
        ):
            if not bodies:
                return [await client.get(path)]
            return await asyncio.gather(*(client.post(path, json=body) for body in bodies))

    return asyncio.run(run())


def rows_of(X):
    return [{f"x{k}": value for k, value in enumerate(row)} for row in X.tolist()]


def test_each_request_gets_its_own_rows_and_wish(router):
    X = np.random.default_rng(0).normal(size=(9, 6))
    wishes = [{"price": 0.5}, {"budget": 0.3}, {"target": 0.3}, {"price": 0.0}]
    found = ask(router, *({"rows": rows_of(X)} | wish for wish in wishes))
    for response, wish in zip(found, wishes, strict=True):
        expected = router.router.route(X, **wish)
        routes = response.json()["routes"]
        assert [route["model"] for route in routes] == expected.model.tolist()
        np.testing.assert_allclose([route["risk"] for route in routes], expected.risk)
        np.testing.assert_allclose([route["cost"] for route in routes], expected.cost)
    assert ask(router, {"rows": [], "price": 1})[0].json() == {"routes": []}


def test_a_request_may_limit_what_a_model_takes(router):
    """The limit is for the rows of that request, whoever else asks at the same time."""
    X = np.random.default_rng(1).normal(size=(12, 6))
    asked = {"rows": rows_of(X), "price": 0.01}
    limited = asked | {"capacity": {"large": 2}}
    for response, capacity in zip(ask(router, limited, asked, limited), (2, 12, 2), strict=True):
        models = [route["model"] for route in response.json()["routes"]]
        expected = router.router.route(X, price=0.01, capacity={"large": capacity})
        assert models == expected.model.tolist()
        assert models.count("large") <= capacity


REFUSED = {
    "capacity needs price": {
        "rows": rows_of(np.zeros((1, 6))),
        "target": 1,
        "capacity": {"large": 1},
    },
    "capacity must be a mapping": {"rows": rows_of(np.zeros((1, 6))), "price": 1, "capacity": 3},
    "one of price": {"rows": []},
    "unknown key": {"rows": [], "price": 1, "cost": 1},
    "must be a number": {"rows": [], "price": "1"},
    "must be an object": {"price": 1},
    "less than rows cost": {"rows": rows_of(np.zeros((1, 6))), "budget": 0.01},
    "1 row does not fit": {"rows": [{"x0": 1}], "price": 1},
    "more than 3 rows": {"rows": rows_of(np.zeros((4, 6))), "price": 1},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_makes_no_sense_is_refused_in_a_sentence(router, message):
    (response,) = ask(router, REFUSED[message], max_rows=3)
    assert response.status_code == 422
    assert message in response.json()["error"]


def test_other_paths_and_the_token(router):
    assert ask(router, path="/health")[0].json() == {"status": "ok"}
    assert ask(router, path="/model")[0].json()["task"] == "routing"
    assert "Routing between small, large" in ask(router, path="/")[0].text
    assert b"condrisk_rows_total" in ask(router, path="/metrics")[0].content
    assert ask(router, {"rows": [], "price": 1}, token="secret")[0].status_code == 401
