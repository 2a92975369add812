"""Training the study's networks on a GPU: ours, a plain loop, and the floor.

    python -m benchmarks.gpu_cifar10 [--data-home FOLDER] [--output FILE] [--at-once N]

For each network of one seed: seconds of an epoch as we train it (images on the device, one CUDA
graph a step, bfloat16) and as most people write it (batches of 128 from the host, one kernel at a
time, single precision, the loss asked for in every step); the share of the time in which the GPU
computes; and the time that the arithmetic alone would take at the device's peak. Before that, two
whole seeds of the study (3 and 4, which the study's records hold), the first in a fresh process, in
which libraries still compile for new shapes, and what nvidia-smi says of the GPU meanwhile. The
record goes to results/cifar10/speed.json, where seeds with other numbers of networks trained at
once (--at-once 3 and 12), and of before networks were trained side by side (--at-once 1 comes
nearest), are kept beside these.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from condrisk._files import write_whole
from condrisk.datasets import load_cifar10
from condrisk.paper._records import describe_machine, installed_versions
from condrisk.paper.cifar10 import _networks
from condrisk.paper.cifar10._networks import CLASSIFIERS, REGRESSORS, Networks
from condrisk.paper.cifar10._run import run_cifar10
from condrisk.paper.networks import create_model
from condrisk.torch._images import InputSpec, channel_statistics, crop_and_flip, prepare
from condrisk.torch._network import to_device
from condrisk.torch._random import RandomNumbers
from condrisk.torch._recipe import controls
from condrisk.torch._steps import Steps, TrainingRows
from condrisk.torch._training import cross_entropy

OUTPUT = Path(__file__).parent.parent / "results" / "cifar10" / "speed.json"
# What a matrix product in bfloat16 was seen to reach on an H200, in operations a second.
PEAK = 790e12
WATCH = "nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits -lms 200"
PLAIN_BATCH = 128
PLAIN_STEPS = 40
# Who is trained how often on how many rows in one seed.
ROWS = {"predictor": 30_000, "probability": 20_000, "losses": 24_000}


def run(images: Any, labels: Any, device: torch.device) -> list[dict[str, Any]]:
    """Return a line for each network of a seed."""
    lines = []
    for role, names, settings, times in (
        ("predictor", ("CNN", "ResNet"), CLASSIFIERS, 1),
        ("probability", tuple(CLASSIFIERS), CLASSIFIERS, 1),
        ("losses", tuple(REGRESSORS), REGRESSORS, 2),
    ):
        for name in names:
            n_rows = min(ROWS[role], len(labels))
            rows = (images[:n_rows], labels[:n_rows])
            line = measure(name, role, settings[name], *rows, device)
            lines.append({**line, "times": times})
            print(json.dumps(lines[-1]), flush=True)
    return lines


def measure(
    name: str, role: str, settings: dict[str, Any], X: Any, y: Any, device: torch.device
) -> dict[str, Any]:
    networks = Networks(weights=None, device=str(device))
    make = networks.regressor if role == "losses" else networks.classifier
    estimator = make(name, 0)
    rows = TrainingRows(
        torch.tensor(X).to(device),
        torch.tensor(y).to(device),
        torch.ones(len(y), device=device),
    )
    spec = InputSpec(*channel_statistics(rows.pixels), settings.get("input_size"))
    recipe = estimator._recipe(0)
    ours, busy = _ours(settings["model"], rows, spec, recipe, device)
    plain = _plain(settings["model"], X, y, spec, device)
    operations = 3 * _forward_operations(settings["model"], spec.size or X.shape[1]) * len(y)
    return {
        "network": name,
        "role": role,
        "epochs": settings["epochs"],
        "rows": len(y),
        "ours_s": ours,
        "plain_s": plain,
        "busy": busy,
        "floor_s": operations / PEAK,
    }


def _ours(
    model: str, rows: TrainingRows, spec: InputSpec, recipe: Any, device: torch.device
) -> tuple[float, float | None]:
    """Return the seconds of an epoch and, on a GPU, the share in which it computes."""
    torch.manual_seed(0)
    net = to_device(create_model(model, num_classes=10), device)
    steps = Steps(net, rows, spec, cross_entropy(0.0), recipe, RandomNumbers(0, device))
    table = controls(recipe, steps.n_steps)
    steps.epoch(table[0])  # captures the graph
    start = time.perf_counter()
    steps.epoch(table[0])
    seconds = time.perf_counter() - start
    busy = None
    if device.type == "cuda":
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            start = time.perf_counter()
            steps.epoch(table[0])
            watched = time.perf_counter() - start
        busy = _covered(profiler.events()) * 1e-6 / watched
    steps.close()
    return seconds, busy


def _covered(events: Any) -> float:
    """Return the microseconds in which at least one kernel runs: some run side by side."""
    spans = sorted(
        (event.time_range.start, event.time_range.end)
        for event in events
        if event.device_type == torch.autograd.DeviceType.CUDA
    )
    total, until = 0.0, 0.0
    for start, end in spans:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def whole_seeds(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return seconds and mean utilisation of two seeds of the study, from start to end."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in (3, 4):
            watch = subprocess.Popen(WATCH.split(), stdout=subprocess.PIPE, text=True)
            start = time.perf_counter()
            run_cifar10(
                Path(folder) / str(seed),
                seeds=[seed],
                device=arguments.device,
                weights=arguments.weights,
                data_home=arguments.data_home,
            )
            seconds = time.perf_counter() - start
            watch.terminate()
            shares = [float(line) / 100 for line in watch.communicate()[0].split()]
            about = {"at_once": _networks.AT_ONCE, "seed": seed, "seconds": seconds}
            lines.append({**about, "utilisation": float(np.mean(shares))})
            print(json.dumps(lines[-1]), flush=True)
    return lines


def _plain(model: str, X: Any, y: Any, spec: InputSpec, device: torch.device) -> float:
    """Return the seconds of an epoch of the loop that most people write."""
    torch.manual_seed(0)
    net = create_model(model, num_classes=10).to(device).train()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-4)
    host = torch.tensor(X)
    labels = torch.tensor(y)
    n_steps = min(PLAIN_STEPS, len(y) // PLAIN_BATCH)
    start = 0.0
    for step in range(-3, n_steps):
        if step == 0:  # what came before was to warm up
            start = time.perf_counter()
        picked = torch.randint(len(y), (PLAIN_BATCH,))
        moves = torch.randint(-4, 5, (2, PLAIN_BATCH))
        flips = torch.randint(0, 2, (PLAIN_BATCH,))
        batch = crop_and_flip(host, picked, moves[0], moves[1], flips).to(device)
        loss = functional.cross_entropy(net(prepare(batch, spec)), labels[picked].to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    return (time.perf_counter() - start) / n_steps * (len(y) / PLAIN_BATCH)


def _forward_operations(model: str, size: int) -> int:
    """Return the additions and multiplications of one image going forward."""
    net = create_model(model, num_classes=10).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        net(torch.zeros(1, 3, size, size))
    return counter.get_total_flops()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--weights", default="imagenet")
    parser.add_argument("--images", type=int, default=30_000)
    parser.add_argument("--at-once", type=int, default=_networks.AT_ONCE)
    arguments = parser.parse_args()
    _networks.AT_ONCE = arguments.at_once
    data = load_cifar10(data_home=arguments.data_home)
    device = torch.device(arguments.device)
    seeds = whole_seeds(arguments) if device.type == "cuda" else []
    images = np.asarray(data.images[: arguments.images])
    lines = run(images, data.labels[: arguments.images], device)
    earlier = json.loads(OUTPUT.read_text(encoding="utf-8"))
    kept = ("other_numbers_at_once", "one_after_another")
    record = {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "machine": describe_machine(),
        "versions": installed_versions(),
        "peak": PEAK,
        "whole_seeds": seeds,
        **{name: earlier[name] for name in kept},
        "networks": lines,
        "seed_s": {
            kind: sum(line[f"{kind}_s"] * line["epochs"] * line["times"] for line in lines)
            for kind in ("ours", "plain", "floor")
        },
    }
    write_whole(arguments.output, json.dumps(record, indent=1) + "\n")
    print(json.dumps(record["seed_s"]))


if __name__ == "__main__":
    main()
