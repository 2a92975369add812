"""Do the trials of results/cifar10/tuning.jsonl again, or others in the same form, on a GPU.

    python -m benchmarks.tune_cifar10 --output trials.jsonl [--trials FILE] [--data-home FOLDER]

Each line of the file has a model, the part of the rows to train on and settings of
`TorchClassifier`; the figures are those of rows held out of that part. No test image is used.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from condrisk.datasets import CIFAR10, load_cifar10
from condrisk.losses import log_loss
from condrisk.vision import TorchClassifier

TRIALS = Path(__file__).parent.parent / "results" / "cifar10" / "tuning.jsonl"
HELD_OUT = {"predictor": 3000, "calibrator": 4000}


def run(trial: dict[str, Any], data: CIFAR10, device: str) -> dict[str, Any]:
    """Return the trial with its figures."""
    predictor, calibrator, _ = data.split(random_state=0)
    part = {"predictor": predictor, "calibrator": calibrator}[trial["rows"]]
    fit, held = train_test_split(
        part, test_size=HELD_OUT[trial["rows"]], stratify=data.labels[part], random_state=0
    )
    X, y = np.asarray(data.images[held]), data.labels[held]
    settings = {name: value for name, value in trial["settings"].items() if name != "tta"}
    start = time.perf_counter()
    net = TorchClassifier(trial["model"], **settings, device=device, random_state=0)
    net.fit(np.asarray(data.images[fit]), data.labels[fit])
    figures = {"s": time.perf_counter() - start, "train_loss": net.history_["train_loss"][-1]}
    for tta in (False, True):
        proba = net.set_params(tta=tta).predict_proba(X)
        figures[f"acc{tta:d}"] = float((net.classes_[proba.argmax(axis=1)] == y).mean())
        figures[f"nll{tta:d}"] = float(log_loss(y, proba, classes=net.classes_).mean())
    return {**trial, "figures": figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=Path, default=TRIALS)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    data = load_cifar10(data_home=arguments.data_home)
    with open(arguments.output, "a", encoding="utf-8") as file:
        for line in arguments.trials.read_text(encoding="utf-8").splitlines():
            done = json.dumps(run(json.loads(line), data, arguments.device))
            print(done, flush=True)
            file.write(done + "\n")
            file.flush()


if __name__ == "__main__":
    main()
