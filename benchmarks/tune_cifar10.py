"""Do the trials of results/cifar10/tuning.jsonl again, or others in the same form, on a GPU.

    python -m benchmarks.tune_cifar10 --output trials.jsonl [--trials FILE] [--data-home FOLDER]

Each line of the file has a model, the rows to train on ("predictor", "calibrator", or "losses of
CNN": the calibrators' rows with the losses of that predictor) and settings of `TorchClassifier` or
`TorchRegressor`; the figures are those of rows held out of that part. No test image is used.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from condrisk.datasets import CIFAR10, load_cifar10
from condrisk.losses import log_loss
from condrisk.paper.cifar10._networks import Networks
from condrisk.paper.networks import create_model
from condrisk.torch import TorchClassifier, TorchRegressor

TRIALS = Path(__file__).parent.parent / "results" / "cifar10" / "tuning.jsonl"
HELD_OUT = {"predictor": 3000, "calibrator": 4000}
LOSSES = "losses of "


class Trials:
    """Trains and judges networks on the predictors' and the calibrators' rows of seed 0.

    Parameters
    ----------
    data : CIFAR10
        All images.
    device : str
        Where to train.
    """

    def __init__(self, data: CIFAR10, device: str) -> None:
        self._data, self._device = data, device
        predictor, calibrator, _ = data.split(random_state=0)
        self._parts = {"predictor": predictor, "calibrator": calibrator}

    def run(self, trial: dict[str, Any]) -> dict[str, Any]:
        """Return the trial with its figures."""
        settings = {name: value for name, value in trial["settings"].items() if name != "tta"}
        rows = trial["rows"]
        losses = rows.startswith(LOSSES)
        make = TorchRegressor if losses else TorchClassifier
        params = {"name": trial["model"], "weights": settings.pop("weights", None)}
        net = make(
            create_model,
            module_params=params,
            **settings,
            device=self._device,
            random_state=0,
        )
        if losses:
            figures = self._judge_regressor(net, rows.removeprefix(LOSSES))
        else:
            figures = self._judge_classifier(net, rows)
        figures["epochs"] = len(net.history_["train_loss"])
        figures["train_loss"] = net.history_["train_loss"][-1]
        return {**trial, "figures": figures}

    def _split(self, part: str) -> tuple[NDArray[Any], NDArray[Any]]:
        rows = self._parts[part]
        labels = self._data.labels[rows]
        fit, held = train_test_split(
            rows, test_size=HELD_OUT[part], stratify=labels, random_state=0
        )
        return fit, held

    def _judge_classifier(self, net: Any, part: str) -> dict[str, float]:
        fit, held = self._split(part)
        X, y = self._images(held), self._data.labels[held]
        figures = {"s": _seconds_of_fit(net, self._images(fit), self._data.labels[fit])}
        for tta in (False, True):
            proba = net.set_params(tta=tta).predict_proba(X)
            figures[f"acc{tta:d}"] = float((net.classes_[proba.argmax(axis=1)] == y).mean())
            figures[f"nll{tta:d}"] = float(log_loss(y, proba, classes=net.classes_).mean())
        return figures

    def _judge_regressor(self, net: Any, predictor: str) -> dict[str, float]:
        fit, held = self._split("calibrator")
        target = self._losses(predictor, held)
        figures = {"s": _seconds_of_fit(net, self._images(fit), self._losses(predictor, fit))}
        for tta in (False, True):
            error = net.set_params(tta=tta).predict(self._images(held)) - target
            figures[f"mse{tta:d}"] = float((error**2).mean())
            figures[f"bias{tta:d}"] = float(error.mean())
        figures["variance"] = float(target.var())
        return figures

    def _losses(self, name: str, rows: NDArray[Any]) -> NDArray[Any]:
        network = self._predictor(name)
        proba = network.predict_proba(self._images(rows))
        return log_loss(self._data.labels[rows], proba, classes=network.classes_)

    @functools.cache  # noqa: B019 (the trials live as long as the process)
    def _predictor(self, name: str) -> Any:
        rows = self._parts["predictor"]
        network = Networks(device=self._device).classifier(name, 0)
        return network.fit(self._images(rows), self._data.labels[rows])

    def _images(self, rows: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._data.images[rows])


def _seconds_of_fit(net: Any, X: Any, y: Any) -> float:
    start = time.perf_counter()
    net.fit(X, y)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=Path, default=TRIALS)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    trials = Trials(load_cifar10(data_home=arguments.data_home), arguments.device)
    with open(arguments.output, "a", encoding="utf-8") as file:
        for line in arguments.trials.read_text(encoding="utf-8").splitlines():
            done = json.dumps(trials.run(json.loads(line)))
            print(done, flush=True)
            file.write(done + "\n")
            file.flush()


if __name__ == "__main__":
    main()
