"""The records of a study, found by set and method, and their means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from condrisk.paper._summary import PaperValue, Summary, mean_and_se

Record = Mapping[str, Any]
Cost = float | str | None
# What records have for each cost of deferring.
PER_COST = ("loss", "rate", "oracle")


class BaseResults:
    """Records, found by set and method; a study adds what it knows of its own.

    Parameters
    ----------
    records : iterable of dict
        One for each set, fold (or seed) and method.
    """

    # Quantities that are computed from a record, by name.
    derived: ClassVar[dict[str, Callable[[Record], float | None]]] = {}

    def __init__(self, records: Iterable[Record]) -> None:
        self._records: dict[tuple[str, str], dict[int, Record]] = {}
        for record in records:
            folds = self._records.setdefault((record["set"], record["method"]), {})
            if record["fold"] in folds:
                raise ValueError(
                    f"records must have each set, fold and method once, but has set "
                    f"{record['set']!r}, fold {record['fold']}, method {record['method']!r} twice"
                )
            folds[record["fold"]] = record

    def records(self, set_name: str, method: str) -> list[Record]:
        """Return the records of a method on a set, by fold."""
        found = self._records.get((set_name, method), {})
        return [found[fold] for fold in sorted(found)]

    def values(
        self, quantity: str, set_name: str, method: str, cost: Cost = None
    ) -> dict[int, float]:
        """Return a quantity of each fold that has it."""
        found = {
            record["fold"]: self._value(record, quantity, cost)
            for record in self.records(set_name, method)
        }
        return {fold: value for fold, value in found.items() if value is not None}

    def paired(
        self, quantity: str, set_name: str, ours: str, theirs: str, cost: Cost = None
    ) -> tuple[list[float], list[float]]:
        """Return a quantity of two methods, fold by fold, of the folds that both have."""
        sides = [self.values(quantity, set_name, method, cost) for method in (ours, theirs)]
        folds = sorted(sides[0].keys() & sides[1].keys())
        a, b = ([side[fold] for fold in folds] for side in sides)
        return a, b

    def _value(self, record: Record, quantity: str, cost: Cost) -> float | None:
        if quantity in PER_COST:
            if cost is None:
                raise ValueError(f"cost must be given: {quantity!r} is not the same at every cost")
            cells = {f"{float(known):g}": cell for known, cell in record.get("costs", {}).items()}
            return cells.get(f"{float(cost):g}", {}).get(quantity)
        if quantity in self.derived:
            return self.derived[quantity](record)
        return record.get(quantity)

    def published(
        self, quantity: str, set_name: str, method: str, cost: Cost, table: str | None
    ) -> PaperValue | None:
        """Return the paper's figure, or None if there is none."""
        raise NotImplementedError

    def summary(
        self,
        quantity: str,
        set_name: str,
        method: str,
        cost: Cost = None,
        *,
        table: str | None = None,
    ) -> Summary | None:
        """Return mean, standard error and the paper's figure, or None if no fold has it.

        Where the paper has a figure in more than one table, `table` says which is meant.
        """
        values = self.values(quantity, set_name, method, cost)
        if not values:
            return None
        paper = self.published(quantity, set_name, method, cost, table)
        return Summary(*mean_and_se(list(values.values())), len(values), paper)

    def mean(self, quantity: str, set_name: str, method: str, cost: Cost = None) -> float | None:
        """Return the mean alone, or None if no fold has it."""
        summary = self.summary(quantity, set_name, method, cost)
        return None if summary is None else summary.mean


def in_order(names: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return the different names: those that are known in their order, then the others.

    Examples
    --------
    >>> from condrisk.paper._results import in_order
    >>> in_order(["x", "b", "a", "b"], ["a", "b", "c"])
    ('a', 'b', 'x')
    """
    there = dict.fromkeys(names)
    return tuple(k for k in known if k in there) + tuple(n for n in there if n not in known)
