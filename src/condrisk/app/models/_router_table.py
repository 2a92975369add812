"""A fitted router together with what it knows about tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from condrisk.app._errors import TableError
from condrisk.app._names import listed, nearest
from condrisk.app.models._encode import encode_rows
from condrisk.persistence import Schema, describe_model, load_model
from condrisk.routing import RoutingDecision

WISHES = ("price", "budget", "target")


class RouterTable:
    """A fitted router, the columns that it reads, and its manifest.

    Parameters
    ----------
    router : ModelRouter
        Fitted.
    manifest : dict
        Plain data about it, as `condrisk.persistence.describe_model` gives it.
    reference : tuple (X, losses), optional
        The rows that it was measured on, where they are at hand.

    Attributes
    ----------
    schema : Schema
        The columns that rows need.
    costs : dict of str to float
        The models, and what is spent on a row that each answers.
    loss_columns : dict of str to str or None
        For each model the column with its losses, where that is known.
    """

    def __init__(self, router: Any, manifest: dict[str, Any], reference: Any = None) -> None:
        if manifest["task"] != "routing":
            raise TableError(
                "the model is no router: it decides whether to defer its own prediction, and not "
                "which of several models answers. condrisk route-fit makes a router."
            )
        self.router = router
        self.manifest = manifest
        self.reference = reference
        self.schema = Schema.from_dict(manifest["schema"])
        self.costs: dict[str, float] = manifest["routing"]["costs"]
        self.loss_columns: dict[str, str] | None = manifest["routing"].get("loss_columns")

    def __repr__(self) -> str:
        return f"RouterTable({', '.join(self.costs)})"

    def encode(self, frame: pl.DataFrame) -> Any:
        """Return rows that passed `condrisk.app.tables.check_rows` as the router takes them."""
        return encode_rows(frame, self.schema)

    def route(
        self,
        frame: pl.DataFrame,
        *,
        capacity: Mapping[str, int] | None = None,
        **wish: float | None,
    ) -> RoutingDecision:
        """Choose the model of each row.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows that passed `condrisk.app.tables.check_rows`.
        capacity : mapping of str to int, optional
            How many of these rows a model can take, with price.
        **wish : float
            One of price, budget and target, as `ModelRouter.route` takes them.

        Returns
        -------
        RoutingDecision
            With `model`, `risk` and `cost`.
        """
        try:
            return self.router.route(self.encode(frame), capacity=capacity, **wish)
        except (ValueError, TypeError) as error:
            raise TableError(str(error)) from None

    def predict_risk(self, frame: pl.DataFrame) -> Any:
        """Return the risk of each model at each row that passed `check_rows`."""
        return self.router.predict_risk(self.encode(frame))


def read_losses(frame: pl.DataFrame, columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the losses of each model, NaN where it has not answered.

    Parameters
    ----------
    frame : polars.DataFrame
        Rows.
    columns : mapping of str to str
        For each model the column with its losses: numbers, or true where it was wrong.
    """
    found = {}
    for name, column in columns.items():
        if column not in frame.columns:
            raise TableError(
                f"{column!r}, which holds the losses of {name!r}, is not a column"
                f"{nearest(column, frame.columns)}: there are {listed(frame.columns)}."
            )
        values = frame[column]
        if not (values.dtype.is_numeric() or values.dtype == pl.Boolean):
            raise TableError(
                f"losses: column {column!r} of model {name!r} must hold numbers, or true where the "
                f"model was wrong; it is {values.dtype}."
            )
        found[name] = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return found


def check_wish(wish: Mapping[str, Any]) -> dict[str, float]:
    """Return the one thing that is wished for, or say what there is to choose from."""
    given = {name: wish[name] for name in WISHES if wish.get(name) is not None}
    if len(given) != 1:
        found = "none" if not given else " and ".join(given)
        raise TableError(
            f"a router needs one of price (the loss that one unit of cost must save), budget (the "
            f"greatest mean cost of a row) and target (the greatest expected loss of a row); got "
            f"{found}."
        )
    return given


def open_router(
    model: Any,
    *,
    schema: Any = None,
    target: Mapping[str, str] | None = None,
    reference: Any = None,
    trusted: Iterable[str] = (),
) -> RouterTable:
    """Return a router of tables: of a model file, or of a fitted router itself.

    Parameters
    ----------
    model : path, RouterTable or ModelRouter
        A file that `condrisk.persistence.save_model` or ``condrisk route-fit`` wrote, or a fitted
        router.
    schema, target, reference : optional
        For a fitted router, as `condrisk.persistence.save_model` takes them.
    trusted : iterable of str
        For a file, as `condrisk.persistence.load_model` takes it.

    Returns
    -------
    RouterTable
        For `condrisk.app.scoring`, `condrisk.app.report` and `condrisk.app.serve`.

    Examples
    --------
    >>> from condrisk.app.models import open_router
    >>> from condrisk.datasets import make_routing
    >>> from condrisk.routing import ModelRouter
    >>> world = make_routing(500, random_state=0)
    >>> router = ModelRouter(world.costs, random_state=0).fit(world.X, world.losses)
    >>> open_router(router, schema=world.X)
    RouterTable(small, medium, large)
    """
    if isinstance(model, RouterTable):
        return model
    if isinstance(model, str | os.PathLike):
        return RouterTable(*load_model(model, trusted, with_manifest=True))
    manifest = describe_model(model, schema, target=target, reference=reference)
    return RouterTable(model, manifest, reference)
