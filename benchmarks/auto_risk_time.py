"""What fitting AutoRisk takes, in random forests: its parts, on the eight sets.

    python -m benchmarks.auto_risk_time    # writes results/auto_risk_time.json

One thread; seconds of the processor, so that other work on the machine counts for little. Each is
fitted `REPEATS` times in turn on the training rows of the first fold; the medians count.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from threadpoolctl import threadpool_limits

from condrisk import AutoRisk
from condrisk._files import write_whole
from condrisk.datasets import UCI_NAMES, load_uci
from condrisk.paper._records import describe_machine, installed_versions

RECORD = Path(__file__).resolve().parents[1] / "results" / "auto_risk_time.json"
REPEATS = 3
SEED = 0


def seconds(estimator: Any, X: Any, y: Any) -> float:
    start = time.process_time()
    estimator.fit(X, y)
    return time.process_time() - start


def measure(name: str) -> dict[str, Any]:
    """Return the seconds of a forest, of AutoRisk and of its parts on one set."""
    data = load_uci(name)
    train, _ = data.folds[0]
    X, y = data.data[train], data.target[train]
    forests, ours, parts = [], [], []
    for seed in range(REPEATS):
        forests.append(seconds(RandomForestRegressor(random_state=seed), X, y))
        model = AutoRisk(task="regression", random_state=seed)
        ours.append(seconds(model, X, y))
        # The parts tell their seconds by the wall; their sum is scaled to the processor's.
        scale = ours[-1] / sum(model.seconds_.values())
        parts.append({part: took * scale for part, took in model.seconds_.items()})
    return {
        "set": name,
        "rows": len(y),
        "features": int(np.shape(X)[1]),
        "forest": median(forests),
        "AutoRisk": median(ours),
        "parts": {part: median(took[part] for took in parts) for part in parts[0]},
    }


def main() -> None:
    with threadpool_limits(1):
        sets = []
        for name in UCI_NAMES:
            sets.append(measure(name))
            ratio = sets[-1]["AutoRisk"] / sets[-1]["forest"]
            print(f"{name}: {ratio:.1f} forests", flush=True)
    record = {"machine": describe_machine(), "versions": installed_versions(), "sets": sets}
    write_whole(RECORD, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
