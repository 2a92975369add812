"""Tables of every kind of column, and models of them written to files as `condrisk fit` does it."""

import asyncio

import httpx
import numpy as np
import polars as pl

from condrisk.persistence import save_model


def save_table_model(model, path):
    """Write what `fit_table` gave, with the rows that it was measured on."""
    save_model(model.model, path, model.schema, target=model.target, reference=model.reference)


def table(n=300, seed=0):
    """Return rows of every kind of column; red ones are noisy."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    colour = rng.choice(["red", "green", "blue"], n)
    y = 2 * x + np.where(colour == "red", 1.0, 0.1) * rng.normal(size=n)
    frame = pl.DataFrame(
        {
            "x": np.where(rng.uniform(size=n) < 0.1, np.nan, x),
            "colour": colour,
            "open": rng.uniform(size=n) < 0.5,
            "day": pl.Series(np.datetime64("2026-01-01") + rng.integers(0, 300, n)).cast(pl.Date),
            "y": y,
        }
    )
    return frame.with_columns(pl.col("x").fill_nan(None))


def classes(n=300, seed=0):
    frame = table(n, seed)
    return frame.with_columns(
        y=pl.when(pl.col("y") > 0).then(pl.lit("up")).otherwise(pl.lit("down"))
    )


def scored_by_service(served, rows, *, cost=None):
    """Return what a service decides for rows given as JSON."""
    body = {"rows": rows} if cost is None else {"rows": rows, "cost": cost}

    async def ask():
        transport = httpx.ASGITransport(served)
        async with (
            served.router.lifespan_context(served),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            return await client.post("/decide", json=body)

    response = asyncio.run(ask())
    assert response.status_code == 200, response.text
    found = response.json()
    return found["rows"] if isinstance(found, dict) else found
