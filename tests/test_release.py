"""What a release is made of says the same everywhere: versions, requirements, checks."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import condrisk

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
WORKFLOWS = {p.stem: p.read_text("utf-8") for p in (ROOT / ".github" / "workflows").glob("*.yml")}
PYTHONS = [
    name.rpartition(" ")[2]
    for name in PROJECT["classifiers"]
    if name.startswith("Programming Language :: Python :: 3.")
]
ON_CONDA = {"matplotlib": "matplotlib-base", "prometheus-client": "prometheus_client"}


def read_yaml(name):
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


def requirements_of(*extras):
    """Return the requirements of the project with some extras, by name; lower bounds."""
    found = {}
    lines = [*PROJECT["dependencies"]]
    lines += [line for extra in extras for line in PROJECT["optional-dependencies"][extra]]
    for requirement in map(Requirement, lines):
        if requirement.name == "condrisk":
            found |= requirements_of(*requirement.extras)
        else:
            [bound] = requirement.specifier
            assert bound.operator == ">=", requirement
            found[requirement.name] = bound.version
    return found


def test_the_version_is_the_same_everywhere():
    assert read_yaml("CITATION.cff")["version"] == condrisk.__version__
    assert read_yaml("conda/recipe.yaml")["context"]["version"] == condrisk.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(r"^## (\S+)", changelog, re.MULTILINE)[1] == condrisk.__version__


def test_the_conda_recipe_needs_what_the_package_and_its_commands_need():
    recipe = read_yaml("conda/recipe.yaml")
    wanted = [f"{ON_CONDA.get(name, name)} >={low}" for name, low in requirements_of("app").items()]
    python, *needed = recipe["requirements"]["run"]
    assert sorted(needed) == sorted(wanted)
    assert python == "python >=${{ python_min }}"
    assert PROJECT["requires-python"] == f">={recipe['context']['python_min']}"


def test_the_lowest_versions_are_those_of_the_bounds():
    lines = (ROOT / "constraints-lowest.txt").read_text("utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    for name, low in requirements_of("test").items():
        extra_free = name.partition("[")[0]
        pinned, bound = Version(pins[extra_free]), Version(low)
        assert pinned >= bound, name
        # "2.2" may stand for 2.2.2, the first that goes with the others, and not for 2.3.
        assert pinned.release[:2] == (*bound.release, 0)[:2], f"{name}: run `make lowest`"


def test_the_pythons_that_are_promised_are_tested():
    assert f">={PYTHONS[0]}" == PROJECT["requires-python"]
    matrix = yaml.safe_load(WORKFLOWS["tests"])["jobs"]["systems"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert [system.partition("-")[0] for system in matrix["os"]] == ["ubuntu", "macos", "windows"]
    said = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"Python {PYTHONS[0]} to {PYTHONS[-1]}" in said


def test_commits_and_ci_are_checked_by_the_same_command():
    [repository] = read_yaml(".pre-commit-config.yaml")["repos"]
    assert [hook["entry"] for hook in repository["hooks"]] == ["make lint"]
    assert "make lint" in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert "- run: make lint" in WORKFLOWS["tests"]


def test_commands_that_files_name_are_targets():
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))
    texts = [*WORKFLOWS.values(), (ROOT / "CONTRIBUTING.md").read_text("utf-8")]
    named = set(re.findall(r"(?:`|\$ |run: )make ([\w-]+)", "\n".join(texts)))
    assert named >= {"dist", "lint", "site", "test", "test-lowest"}
    assert named <= targets


def test_the_fast_part_is_there_and_goes_the_whole_way():
    listed = (ROOT / "tests" / "fast_part.txt").read_text("utf-8").splitlines()
    assert "tests/app/test_whole_way.py" in listed
    left_out = [line.partition("=")[2] for line in listed if line.startswith("--deselect=")]
    files = [name.partition("::")[0] for name in (*listed, *left_out) if "=" not in name]
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_workflows_pin_what_they_use_and_ask_for_little():
    for name, text in WORKFLOWS.items():
        workflow = yaml.safe_load(text)
        assert workflow["permissions"] == {"contents": "read"}, name
        for action in re.findall(r"uses: (\S+)", text):
            assert re.search(r"@(v\d|release/v\d)", action), action
