"""Tables of every kind of column, and models of them written to files as `condrisk fit` does it."""

import asyncio

import httpx
import numpy as np
import polars as pl

from condrisk.app.tables import check_rows
from condrisk.persistence import save_model


def save_table_model(model, path):
    """Write what `fit_table` gave, with the rows that it was measured on."""
    save_model(
        model.model,
        path,
        model.schema,
        target=model.target,
        reference=model.reference,
        cost_column=model.cost_column,
    )


def outside_of(model, frame):
    """Return the columns in which each row leaves what was seen, cell by cell in plain Python."""
    found = []
    good = check_rows(model.schema, frame).good
    for row, given in zip(good.to_dicts(), frame.to_dicts(), strict=True):
        names = []
        for column in model.schema.columns:
            value, nothing = row[column.name], row[column.name] is None
            nothing = nothing or value != value
            if column.kind in ("date", "datetime"):
                continue
            if nothing:
                said = str(given[column.name]).strip().lower()
                unseen = column.kind == "category" and said not in ("none", "nan", "n/a", "na", "")
                is_outside = unseen or column.missing == 0
            elif column.kind == "number":
                reach = 0.1 * (column.high - column.low)
                is_outside = not column.low - reach <= value <= column.high + reach
            else:
                is_outside = False
            names += [column.name] if is_outside else []
        found.append(names)
    return found


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
