"""Three losses ℓ, two L, and Platt scaling beside temperature, on CIFAR-10.

    python -m benchmarks.cifar10_losses --weights FILE [--data-home FOLDER] [--seeds 3:13]

For each seed the images are split and the networks trained as `condrisk reproduce cifar10` does:
a CNN and a ResNet-8 as predictors, four networks as models of the class probabilities. For each
predictor, the risk under three losses is estimated by each of these models as it is, with a
temperature, and with Platt's sigmoids of probabilities or of log-odds, all learnt on the images
held out; and by two CNNs that regress the loss on the image, as in the study, on all of the
calibrators' images, and minimise the squared (L²) or the absolute (L¹) error. A finished seed is on
disk at once, and is not run again. ``--quick`` trains for one epoch on few images, to see that
everything runs. The record goes to results/cifar10/losses.json.

``--keep FOLDER`` also writes what the networks say, for seeds A to B - 1 into
``probabilities-A-B.npz``: labels and probabilities, for the images to test on and those held out.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks import class_losses
from benchmarks.class_losses import ABSOLUTE, ERRORS, SQUARED, Models
from condrisk._files import write_whole
from condrisk.paper._records import describe_machine, installed_versions
from condrisk.paper.cifar10._networks import Networks
from condrisk.paper.cifar10._run import load_images
from condrisk.paper.cifar10._seed import Parts, Trained, train_networks
from condrisk.torch import TorchRegressor
from condrisk.torch._training import resolve_device

OUTPUT = Path(__file__).parent.parent / "results" / "cifar10" / "losses.json"
REGRESSOR = "CNN"


class AbsoluteErrorRegressor(TorchRegressor):
    """The same regressor, trained on the absolute error."""

    def _train(self, X: Any, task: Any, weight: NDArray[np.float64]) -> None:
        task = task._replace(objective=absolute_error, validation_objective=absolute_error)
        super()._train(X, task, weight)


def absolute_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the absolute error of each row."""
    return (outputs[:, 0] - targets).abs()


def measure(
    parts: Parts, trained: Trained, networks: Networks, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield a record for each predictor and loss."""
    squared = networks.regressor(REGRESSOR, seed)
    absolute = AbsoluteErrorRegressor(**squared.get_params(deep=False))
    rows = class_losses.Parts(
        *((part.X, part.y) for part in (parts.held, parts.calibrator, parts.test))
    )
    for name, predictor in trained.predictors.items():
        regressors = {SQUARED: squared, ABSOLUTE: absolute}
        models = Models(predictor, trained.probabilities, regressors, "x")
        yield from class_losses.measure(f"CIFAR-10, {name}", seed, models, rows)


def responses(parts: Parts, trained: Trained) -> dict[str, NDArray[Any]]:
    """Return labels and what each network says, for images to test on and held out."""
    arrays: dict[str, NDArray[Any]] = {}
    for where, part in (("test", parts.test), ("held", parts.held)):
        arrays[f"{where} labels"] = part.y.astype(np.uint8)
        for role, models in (("f", trained.predictors), ("p", trained.probabilities)):
            for name, model in models.items():
                proba = model.predict_proba(part.X)
                arrays[f"{where} {role} {name}"] = proba.astype(np.float32)
    return arrays


class Record:
    """The record on disk, of one setting, to which seeds are added."""

    def __init__(self, path: Path, setting: dict[str, Any]) -> None:
        self.path = path
        self.content: dict[str, Any] = {**setting, "networks": [], "records": []}
        if path.exists():
            self.content = json.loads(path.read_text(encoding="utf-8"))
            found = {name: self.content[name] for name in setting}
            if found != setting:
                raise ValueError(f"{path} was measured otherwise: {found} and not {setting}")

    @property
    def seeds(self) -> set[int]:
        """The seeds that are there."""
        return {line["seed"] for line in self.content["records"]}

    def add(self, networks: list[dict[str, Any]], records: list[dict[str, Any]]) -> None:
        """Add a whole seed, in the order of seeds."""
        self.content["networks"] += networks
        self.content["records"] += records
        self.content["networks"].sort(key=lambda line: line["fold"])
        self.content["records"].sort(key=lambda line: line["seed"])
        write_whole(self.path, json.dumps(self.content) + "\n")


def keep(path: Path, seed: int, arrays: dict[str, NDArray[Any]]) -> None:
    """Add the arrays of a seed to a file of numpy."""
    known = {f"{seed} {name}": array for name, array in arrays.items()}
    if path.exists():
        with np.load(path, allow_pickle=False) as before:
            known = dict(before) | known
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **known)
    write_whole(path, buffer.getvalue())


def run(
    record: Record, seeds: range, networks: Networks, data: Any, kept: Path | None = None
) -> None:
    """Add to the record the seeds that it lacks."""
    for seed in seeds:
        if seed in record.seeds:
            continue
        log = _log(seed)
        parts = Parts.of(data, seed)
        trained = train_networks(parts, networks, seed, log)
        log("estimating risks")
        lines = list(measure(parts, trained, networks, seed))
        if kept is not None:
            keep(
                kept / f"probabilities-{seeds.start}-{seeds.stop}.npz",
                seed,
                responses(parts, trained),
            )
        record.add(trained.records, lines)
        log("done")


def _log(seed: int) -> Callable[[str], None]:
    start = time.perf_counter()
    return lambda what: print(
        f"seed {seed}, {time.perf_counter() - start:.0f} s: {what}", flush=True
    )


def setting(device: torch.device, *, quick: bool) -> dict[str, Any]:
    """Return what all seeds of a record share."""
    is_gpu = device.type == "cuda"
    return {
        "versions": installed_versions(),
        "machine": describe_machine(),
        "device": torch.cuda.get_device_name(device) if is_gpu else device.type,
        "quick": quick,
        "errors": ERRORS,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--weights", default="imagenet")
    parser.add_argument("--device", default="auto")
    # Seeds 0 to 2 were used to choose settings of the networks.
    parser.add_argument("--seeds", default="3:13", metavar="A:B")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    device = resolve_device(arguments.device)
    record = Record(arguments.output, setting(device, quick=arguments.quick))
    networks = Networks(arguments.weights, str(device), arguments.quick)
    data = load_images(None, arguments.data_home, quick=arguments.quick)
    seeds = range(*map(int, arguments.seeds.split(":")))
    run(record, seeds, networks, data, arguments.keep)


if __name__ == "__main__":
    main()
