"""One learning curve: label, fit, test, choose, and again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.paper._records import Record
from condrisk.paper.active._predictor import KernelProcess
from condrisk.paper.active._settings import (
    CANDIDATES,
    SEED,
    SETS,
    ActiveConfig,
    Schedule,
)
from condrisk.paper.active._strategies import STRATEGIES, Round
from condrisk.paper.active._worlds import World


def curves(
    name: str, seed: int, world: World, config: ActiveConfig, methods: Sequence[str]
) -> list[Record]:
    """Return a record for each of some ways to choose, from the same draws of first labels."""
    schedule = config.schedule(name)
    base = [SEED, SETS.index(name), seed]
    records = []
    for method in methods:
        start = time.perf_counter()
        found, shares = [], []
        for draw in range(config.draws(name, method)):
            place = [*base, 0, draw] if draw else [*base, 0]
            rng = np.random.default_rng(place)
            first = rng.choice(len(world.X), schedule.initial, replace=False)
            orders = [
                _curve(method, world, schedule, first, np.random.default_rng([*base, 1, order]))
                for order in range(draw, draw + config.orders(name, method))
            ]
            found.append(np.mean([errors for errors, _ in orders], axis=0))
            shares += [world.share_of_noise(rows[schedule.initial :]) for _, rows in orders]
        record: Record = {
            "set": name,
            "fold": seed,
            "method": method,
            "labels": schedule.labels,
            "errors": np.mean(found, axis=0).tolist(),
            "curves": [errors.tolist() for errors in found],
        }
        if world.noisy is not None:
            record["share_of_noise"] = float(np.mean(shares))
        records.append(record | {"seconds": time.perf_counter() - start})
    return records


def _curve(
    method: str,
    world: World,
    schedule: Schedule,
    first: NDArray[Any],
    rng: np.random.Generator,
) -> tuple[list[float], NDArray[np.intp]]:
    """Return the errors, and the rows in the order in which they were labelled."""
    labelled, errors = first, []
    for step in range(schedule.rounds + 1):
        process = KernelProcess(n_classes=world.n_classes)
        process.fit(world.X[labelled], world.y[labelled])
        errors.append(world.error(process.predict(world.X_test)))
        if step == schedule.rounds:
            break
        rest = np.setdiff1d(np.arange(len(world.X)), labelled)
        if len(rest) > CANDIDATES:
            rest = np.sort(rng.choice(rest, CANDIDATES, replace=False))
        state = Round(
            world.X[labelled],
            world.y[labelled],
            process,
            world.X[rest],
            int(rng.integers(np.iinfo(np.int32).max)),
        )
        labelled = np.append(labelled, rest[STRATEGIES[method](state, schedule.batch)])
    return errors, labelled
