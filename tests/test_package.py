"""The package as a whole: what it exports, what it loads, and that its README is true."""

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tools.build_docs import pages
from tools.mutants import read_mutants
from tools.update_readme import PAGES, updated

import condrisk
from condrisk.paper.rwr import unregister_method

ROOT = Path(__file__).parent.parent

# What people plan with: these names do not go away without a word in the changelog.
PROMISED = {
    "AutoRisk",
    "BudgetRule",
    "CostRule",
    "Decision",
    "Deferral",
    "ExpertRule",
    "HybridRisk",
    "PlugInRisk",
    "RegressionRisk",
    "RiskControlRule",
    "huber",
    "make_loss",
    "pinball",
    "predict_risk",
}
MOST_NAMES, MOST_NAMES_IN_A_ROOM = 263, 25


def rooms():
    """Return the public names of every public package that has any."""
    packages = [m.name for m in pkgutil.walk_packages(condrisk.__path__, "condrisk.") if m.ispkg]
    public = [name for name in packages if not any(p.startswith("_") for p in name.split("."))]
    found = {name: importlib.import_module(name) for name in ["condrisk", *public]}
    return {name: module for name, module in found.items() if getattr(module, "__all__", ())}


def test_public_names_are_there_sorted_and_few():
    for name, module in rooms().items():
        assert all(hasattr(module, public) for public in module.__all__), name
        assert len(set(module.__all__)) == len(module.__all__) <= MOST_NAMES_IN_A_ROOM, name
    assert set(condrisk.__all__) == PROMISED
    # A name of `condrisk` itself is also one of its room, and counts once.
    names = {(name, public) for name, module in rooms().items() for public in module.__all__}
    assert len({pair for pair in names if pair[0] != "condrisk"}) <= MOST_NAMES


def loaded_by(statement):
    """Return the modules that a fresh interpreter has loaded after the statement."""
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_nothing_that_scikit_learn_does_not():
    ours = loaded_by("import condrisk")
    theirs = loaded_by("import sklearn.ensemble")
    standard = set(sys.stdlib_module_names)
    extra = {
        name
        for name in ours - theirs
        if name.split(".")[0] not in standard | {"condrisk"}
        # what the installation itself brings into every interpreter
        and not name.startswith(("_virtualenv", "__editable__"))
    }
    assert not extra


def test_rooms_load_what_they_need_when_it_is_needed():
    """One interpreter for all of them: what one loads, another would hide, were any allowed."""
    loaded = loaded_by(
        "import condrisk.active, condrisk.deferral, condrisk.metrics, condrisk.plots, "
        "condrisk.shift, condrisk.paper.baselines; "
        "from condrisk.datasets import load_uci; load_uci('solar')"
    )
    heavy = {"PIL", "matplotlib", "polars", "pooch", "skactiveml", "skops", "torch"}
    assert not heavy & loaded


def test_every_module_imports_by_itself():
    names = [m.name for m in pkgutil.walk_packages(condrisk.__path__, "condrisk.")]
    code = "import importlib, sys; [importlib.import_module(n) for n in sys.argv[1:]]"
    subprocess.run([sys.executable, "-W", "error", "-c", code, *names], check=True)


def readme_blocks():
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def test_readme_has_code():
    assert readme_blocks()


def test_readme_code_runs(tmp_path, monkeypatch):
    """The blocks are one session, in the order of the page."""
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    session = {}
    for number, block in enumerate(readme_blocks()):
        exec(compile(block, f"README block {number}", "exec"), session)
    for name in re.findall(r'@register_method\("(.+?)"\)', "".join(readme_blocks())):
        unregister_method(name)


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_figures_of_pages_are_those_of_the_records(page):
    text = page.read_text(encoding="utf-8")
    assert updated(text) == text


def test_pages_are_those_of_the_records():
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, path


def test_names_that_are_imported_late_are_listed_and_others_are_refused():
    code = (
        "import condrisk as room; names = dir(room); "
        "assert set(names) == set(room.__all__); [getattr(room, name) for name in names]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        condrisk.Nonsense  # noqa: B018


def test_defaults_are_those_of_the_docstrings():
    """Such as ``cv : int, default=5``; of classes and functions that are public."""
    wrong, n_seen = [], 0
    for room, module in rooms().items():
        for name in module.__all__:
            thing = getattr(module, name)
            is_error = isinstance(thing, type) and issubclass(thing, BaseException)
            if not callable(thing) or not thing.__doc__ or is_error:
                continue
            known = inspect.signature(thing).parameters
            # A name, such as numpy.inf, is left to the reader.
            literal = r"(None|True|False|[-\d.e]+|\(.*\)|\".*\"|'.*')"
            said = re.findall(rf"^ +(\w+) : .*\bdefault={literal}$", thing.__doc__, re.MULTILINE)
            for parameter, text in said:
                if parameter in known:
                    n_seen += 1
                    default = known[parameter].default
                    wrong += [(room, name, parameter)] * (ast.literal_eval(text) != default)
    assert not wrong
    assert n_seen > 300


def test_version_has_an_entry_in_the_changelog():
    assert f"## {condrisk.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_mutants_are_of_the_code_as_it_is():
    """Each is a change of one place: code that moves takes its mutants along."""
    assert len(read_mutants()) > 200


def test_the_record_of_the_sample_of_mutants_says_what_became_of_each():
    """`make mutants` draws them by a seed; what survives is in the record, too."""
    record = json.loads((ROOT / "results" / "mutation.json").read_text("utf-8"))
    mutants = record["mutants"]
    outcomes = Counter(mutant["outcome"] for mutant in mutants)
    each = {(m["file"], m["operator"], m["old"], m["nth"]) for m in mutants}
    assert len(each) == len(mutants) == record["run"] <= record["drawn"] == 300
    assert set(outcomes) <= {"killed", "equivalent", "survived"}
    assert all(record[outcome] == count for outcome, count in outcomes.items())
    assert all(mutant["by"] for mutant in mutants if mutant["outcome"] == "killed")
    assert all(mutant["why"] for mutant in mutants if mutant["outcome"] == "equivalent")
