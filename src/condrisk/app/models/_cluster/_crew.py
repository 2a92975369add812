"""Boosting by all workers of a cluster together, begun again where one of them dies.

LightGBM's workers talk to each other while they fit. If one dies, the others may wait for it for
ever, and Dask waits with them: somebody has to look. Fits run one after another and without early
stopping, as several at once, and early stopping, can hang (issues 4942 and 6351 of LightGBM).
"""

from __future__ import annotations

import io
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from operator import itemgetter
from threading import Thread
from typing import Any
from uuid import uuid4

from condrisk._cluster import result_of, submit, wait_for_workers
from condrisk.app.models._cluster._rows import Recipe, Stage, read_share, training_rows
from condrisk.app.models._cluster._source import Part, shares

MOST_RESTARTS = 3
# So long a fit may go without a new tree.
STALL_SECONDS = 600.0
# Seconds between two looks at the workers.
_LOOK_SECONDS = 0.2
Tell = Callable[[str], None]


class LostError(Exception):
    """A fit cannot end, because a worker of it is gone or stands still."""


class StuckError(LostError):
    """LightGBM was fitting then: its other workers may wait for ever."""


class Crew:
    """The workers of a cluster, that fit together.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    wait : float
        How many seconds to wait for workers.
    note : callable
        Gets a sentence where a fit is begun again.
    own : bool
        Whether the cluster was started for this, so that nobody else uses its workers.
    """

    def __init__(self, client: Any, wait: float, note: Tell, *, own: bool) -> None:
        self.client = client
        self.address = client.scheduler.address
        self.wait = wait
        self.note = note
        self.own = own
        self.restarts = 0
        self.size = len(client.nthreads())
        self.held: dict[str, Any] = {}  # the share of each worker

    def map(self, function: Callable[..., Any], things: Sequence[Any], *others: Any) -> list[Any]:
        """Return what a function gives for each of several things, computed by the workers."""
        from distributed import KilledWorker

        tasks = [submit(self.client, function, thing, *others) for thing in things]
        try:
            return [result_of(self.client, task, wait=self.wait) for task in tasks]
        except KilledWorker:
            raise ConnectionError(
                "workers died while they read one row group, again and again: are they out of "
                "memory? A row group must fit into that of a worker."
            ) from None

    def boost(
        self,
        parts: Sequence[Part],
        recipe: Recipe,
        stage: Stage,
        options: dict[str, Any],
        tell: Tell,
    ) -> str:
        """Return the text of a booster fitted to the rows of a stage.

        A fit that is lost is begun again, with the workers that there are then.
        """
        while True:
            workers: Sequence[str] = list(self.held) or sorted(self.client.nthreads())
            try:
                self._hold(workers, parts, recipe, tell)
                with _attempt(self) as fit:
                    return fit.run(self.held, recipe, stage, options, tell)
            except LostError as lost:
                self._begin_again(workers, lost)

    def _hold(
        self, workers: Sequence[str], parts: Sequence[Part], recipe: Recipe, tell: Tell
    ) -> None:
        """Have each worker read its share of the rows, unless it has."""
        if self.held:
            return
        tell("reading rows")
        dealt = shares(parts, len(workers))
        if len(dealt) < len(workers):
            self.note(
                f"the table has {len(dealt)} row groups, so that only as many workers fit; files "
                f"of more row groups keep more of them busy"
            )
        tasks = {
            worker: there(self.client, worker, read_share, share, recipe)
            for worker, share in zip(workers, dealt, strict=False)
        }
        wait_for(self.client, tasks.values(), list(tasks))
        self.held = tasks

    def _begin_again(self, workers: Sequence[str], lost: LostError) -> None:
        """Free the workers of a fit that is lost, and wait for those that start anew."""
        if self.restarts == MOST_RESTARTS:
            raise ConnectionError(
                f"fitting was begun again {MOST_RESTARTS} times, and {lost} once more: are the "
                f"workers out of memory? More of them hold smaller shares of the rows."
            ) from None
        self.restarts += 1
        self.note(f"{lost}; the fit is begun again ({self.restarts} of {MOST_RESTARTS} times)")
        self.held = {}
        if isinstance(lost, StuckError):
            self._free(workers)
        wait_for_workers(self.client, self.size, self.wait)

    def _free(self, workers: Sequence[str]) -> None:
        """Restart the workers that are left of a fit: they may wait for the others for ever."""
        left = sorted(set(workers) & set(self.client.nthreads()))

        def restart() -> None:
            # Workers without a nanny cannot be restarted. They give up when LightGBM does.
            with suppress(ValueError, TimeoutError, OSError):
                self.client.restart_workers(left, timeout=self.wait)

        # A nanny may take longer than it was told to.
        thread = Thread(target=restart, daemon=True)
        thread.start()
        thread.join(self.wait)


def there(client: Any, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Send a task to one worker, and to no other."""
    with warnings.catch_warnings():
        # Dask would rather have large arguments on its workers beforehand.
        warnings.filterwarnings("ignore", message="Sending large graph")
        return client.submit(function, *arguments, workers=[worker], pure=False)


def wait_for(client: Any, tasks: Iterable[Any], workers: Sequence[str]) -> None:
    """Wait for tasks as long as their workers live; raise what they raise."""
    tasks = list(tasks)
    while not all(task.done() for task in tasks):
        time.sleep(_LOOK_SECONDS)
        look_at(client, workers)
    for task in tasks:
        if task.status == "error":
            task.result()


def look_at(client: Any, workers: Iterable[str]) -> None:
    """Raise `LostError` where a worker is gone."""
    gone = set(workers) - set(client.nthreads())
    if gone:
        raise LostError(f"the worker at {min(gone)} is gone")


# -- one attempt -----------------------------------------------------------------------------------


@contextmanager
def _attempt(crew: Crew) -> Iterator[_Attempt]:
    """Yield a fit with a client of its own: closed, it lets go of whatever the fit waits for."""
    from distributed import Client

    # LightGBM waits for what it sends to workers by Dask's default client.
    client = Client(crew.address, set_as_default=True, timeout=crew.wait)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            # Of options that LightGBM sets itself, and of large arguments; it prints all else.
            warnings.simplefilter("ignore")
            yield _Attempt(client, own=crew.own)
    finally:
        client.close()


class _Attempt:
    """A fit that may be lost."""

    def __init__(self, client: Any, *, own: bool) -> None:
        self.client = client
        self.own = own
        self.trees = 0
        self.heard = time.monotonic()

    def run(
        self,
        held: Mapping[str, Any],
        recipe: Recipe,
        stage: Stage,
        options: dict[str, Any],
        tell: Tell,
    ) -> str:
        """Return the text of the booster."""
        if self.own:
            self.client.run(_write_nothing, workers=list(held))
        tell("preparing rows")
        X, y = self._rows(held, recipe, stage)
        topic = f"condrisk-{uuid4().hex}"
        self.client.subscribe_topic(topic, self._hear)
        found: list[Any] = []

        def fit() -> None:
            try:
                found.append(_fit(self.client, X, y, stage, options, topic))
            except BaseException as error:  # told below, in the thread that asked for it
                found.append(error)

        thread = Thread(target=fit, daemon=True)
        self.heard = time.monotonic()
        thread.start()
        while thread.is_alive():
            thread.join(_LOOK_SECONDS)
            try:
                look_at(self.client, held)
            except LostError as lost:
                raise StuckError(*lost.args) from None
            if time.monotonic() - self.heard > STALL_SECONDS:
                raise StuckError(f"there was no new tree for {STALL_SECONDS:g} seconds")
            tell(f"tree {self.trees} of {options['n_estimators']}")
        if not isinstance(found[0], str):
            raise StuckError(f"a fit failed ({str(found[0]).strip() or type(found[0]).__name__})")
        return found[0]

    def _rows(self, held: Mapping[str, Any], recipe: Recipe, stage: Stage) -> Any:
        """Have each worker make of its share what is fitted to; return arrays of Dask."""
        import dask.array as da
        from distributed import Future

        rows = {
            worker: there(
                self.client, worker, training_rows, Future(share.key, self.client), recipe, stage
            )
            for worker, share in held.items()
        }
        X, y = (
            [there(self.client, worker, itemgetter(k), pair) for worker, pair in rows.items()]
            for k in (0, 1)
        )
        sizes = [
            there(self.client, worker, len, part) for worker, part in zip(rows, y, strict=True)
        ]
        wait_for(self.client, [*rows.values(), *sizes], list(rows))
        width = len(stage.bins.edges)
        blocks = [
            (da.from_delayed(x, (n, width), dtype="f4"), da.from_delayed(z, (n,), dtype="f8"))
            for x, z, n in zip(X, y, self.client.gather(sizes), strict=True)
            if n  # a worker without rows would have LightGBM wait for ever
        ]
        return (da.concatenate(part) for part in zip(*blocks, strict=True))

    def _hear(self, event: Any) -> None:
        self.trees = max(self.trees, event[1])
        self.heard = time.monotonic()


def _fit(client: Any, X: Any, y: Any, stage: Stage, options: dict[str, Any], topic: str) -> str:
    from lightgbm import DaskLGBMRegressor

    # The regressor takes the numbers of classes as they are; the classifier would number the
    # classes of each worker's rows, which may lack one.
    model = DaskLGBMRegressor(
        client=client,
        max_bin=255,
        min_data_in_bin=1,
        deterministic=True,
        force_row_wise=True,
        time_out=max(1, int(STALL_SECONDS / 60)),
        verbosity=-1,
        **options,
    )
    told: dict[str, Any] = {"callbacks": [_Tell(topic)]}
    if stage.bins.categorical:
        told["categorical_feature"] = stage.bins.categorical
    model.fit(X, y, **told)
    text: str = model.booster_.model_to_string()
    return text


class _Tell:
    """Says, from a worker, how many trees there are."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def __call__(self, environment: Any) -> None:
        from distributed import get_worker

        get_worker().log_event(self.topic, environment.iteration + 1)


def _write_nothing() -> None:
    """Let a worker of ours print nothing: LightGBM tells of each connection."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
