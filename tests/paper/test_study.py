"""The skeleton of the studies, on a study of a few lines."""

import subprocess
import sys
from dataclasses import dataclass

import pytest

from condrisk.paper import read_records
from condrisk.paper._study import QuickConfig, Study, Task, check_choice


@dataclass(frozen=True)
class Config(QuickConfig):
    def to_dict(self):
        return {"study": "squares", "quick": self.quick}


@dataclass(frozen=True)
class Squares(Study):
    """Units "a" and "b" of a fold are made together; methods may come one after the other."""

    config: Config
    folds: tuple[int, ...]
    methods: tuple[str, ...] = ("square",)
    failing: bool = False

    def order(self, key):
        return key[1], "ab".index(key[0])

    def keys(self):
        return [(name, fold) for fold in self.folds for name in "ab"]

    def tasks(self, units):
        for fold in self.folds:
            keys = (("a", fold), ("b", fold))
            new = [
                m
                for m in self.methods
                if any(k not in units or m not in units[k].records for k in keys)
            ]
            if new:
                yield Task(keys, f"fold {fold}", f"squaring {fold}", work=fold + 1.0, inputs=new)

    def do(self, task):
        if self.failing:
            raise ZeroDivisionError
        for name, fold in task.keys:
            for method in task.inputs:
                yield {"set": name, "fold": fold, "method": method, "value": fold**2}


def keys_in(folder):
    return [(r["fold"], r["set"], r["method"]) for r in read_records(folder / "records.jsonl")]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_is_missing_is_done_longest_first_and_put_in_order(tmp_path, n_jobs):
    Squares(Config(), (2,)).run(tmp_path)
    seen = []
    records = Squares(Config(), (3, 1, 2)).run(
        tmp_path, n_jobs=n_jobs, progress=lambda *arguments: seen.append(arguments)
    )
    assert {what for _, _, what in seen} == {"fold 3", "fold 1"}
    assert seen[-1][:2] == (6.0, 6.0)
    if n_jobs == 1:
        assert [what for _, _, what in seen] == ["fold 3", "fold 1"]
    assert [(r["fold"], r["set"]) for r in records] == [(k, s) for k in (3, 1, 2) for s in "ab"]
    assert keys_in(tmp_path) == [(k, s, "square") for k in (1, 2, 3) for s in "ab"]
    assert not (tmp_path / "units").exists()


def test_new_records_join_those_of_their_unit(tmp_path):
    Squares(Config(), (1,)).run(tmp_path)
    Squares(Config(), (1,), ("square", "again")).run(tmp_path)
    assert keys_in(tmp_path) == [(1, s, m) for s in "ab" for m in ("square", "again")]
    before = (tmp_path / "records.jsonl").read_bytes()
    Squares(Config(), (1,), failing=True).run(tmp_path)  # nothing is open
    assert (tmp_path / "records.jsonl").read_bytes() == before


def test_a_task_that_fails_is_named_and_what_is_done_stays(tmp_path):
    Squares(Config(), (1,)).run(tmp_path)
    with pytest.raises(ZeroDivisionError) as caught:
        Squares(Config(), (1, 2), failing=True).run(tmp_path)
    assert caught.value.__notes__ == ["while squaring 2"]
    assert len(Squares(Config(), (1,)).run(tmp_path)) == 2
    with pytest.raises(ValueError, match="another configuration"):
        Squares(Config(quick=True), (1,)).run(tmp_path)


@pytest.mark.parametrize("wrong", ["a", [], ["c"], ["a", "c"]])
def test_choices_are_checked(wrong):
    with pytest.raises(ValueError, match="sets must be a list of some of a, b; got"):
        check_choice("sets", wrong, "ab")
    assert check_choice("sets", None, "ab") == ["a", "b"]


HEAVY = """
import sys
from condrisk.paper._cli import reproduce
heavy = ("sklearn", "torch", "matplotlib", "polars", "numpy", "rich.progress")
print(*(name for name in heavy if name in sys.modules))
"""


def test_the_commands_load_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
