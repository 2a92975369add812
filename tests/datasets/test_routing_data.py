"""A world of several models, and the table of two language models on MMLU."""

import csv
import gzip

import numpy as np
import pytest

from condrisk.datasets import _mmlu_routing as module
from condrisk.datasets import load_mmlu_routing, make_routing


@pytest.mark.parametrize("n_models", [2, 3, 5])
def test_losses_are_drawn_from_the_risk_that_is_told(n_models):
    world = make_routing(40_000, n_models=n_models, random_state=0)
    risk = world.risk(world.X)
    assert risk.shape == (40_000, n_models)
    assert list(world.costs) == list(world.losses)
    for k, losses in enumerate(world.losses.values()):
        surprise = losses - risk[:, k]
        for weight in (1.0, risk[:, k], world.X[:, 0], world.X[:, 1]):
            assert (weight * surprise).mean() == pytest.approx(0, abs=0.012)  # five deviations


def test_models_fail_together():
    world = make_routing(20_000, n_models=2, random_state=0)
    small, large = world.losses.values()
    risk = world.risk(world.X)
    # One draw for both: they are wrong together where it is below the lesser chance.
    assert (small * large).mean() == pytest.approx(risk.min(axis=1).mean(), abs=0.01)


def test_the_formula_is_that_of_the_docstring():
    world = make_routing(5, n_models=3, random_state=0)
    x = np.array([[0.3, -1.0, 0.5, 2.0, 0.0, 0.0]])
    logits = [
        0.3 + 0.5 - 1.5 * np.tanh(-1.0),
        0.3 + 0.5 - 1.2 - 1.5 * np.tanh(0.5),
        0.3 + 0.5 - 2.4,
    ]
    np.testing.assert_allclose(world.risk(x)[0], 1 / (1 + np.exp(-np.array(logits))))
    assert world.costs == {"small": 0.2, "medium": 0.6, "large": 1.8}


def test_the_same_seed_gives_the_same_rows_and_gaps_are_drawn():
    first = make_routing(1000, answered=0.6, random_state=1)
    again = make_routing(1000, answered=0.6, random_state=1)
    np.testing.assert_array_equal(first.losses["small"], again.losses["small"])
    gaps = np.isnan(first.sample(5000, random_state=2).losses["large"]).mean()
    assert gaps == pytest.approx(0.4, abs=0.03)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"n_models": 1}, "n_models"), ({"answered": 0}, "answered"), ({"n_features": 1}, "n_feat")],
)
def test_bad_worlds_are_refused(wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make_routing(10, **wrong)
    with pytest.raises(ValueError, match="X must have shape"):
        make_routing(10, random_state=0).risk([[1.0]])


# -- the table ----------------------------------------------------------------------------------

ROWS = [
    ("anatomy", "What is a nerve?\nA. this\nB. that", "True", "False"),
    ("virology", 'What is a "virus"?', "False", "True"),
]


def write(path, rows=ROWS, columns=module._COLUMNS):
    path.parent.mkdir(parents=True, exist_ok=True)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


@pytest.fixture
def small_table(monkeypatch):
    """Make two rows the published table."""
    import hashlib

    text = "\x1e".join("\x1f".join(row) for row in ROWS).encode()
    monkeypatch.setattr(module, "_SHA256", hashlib.sha256(text).hexdigest())


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_a_table_is_read_wherever_it_lies(name, tmp_path, small_table):
    data = load_mmlu_routing(path=write(tmp_path / name))
    assert data.prompts == [ROWS[0][1], ROWS[1][1]]
    assert data.subjects.tolist() == ["anatomy", "virology"]
    assert {k: v.tolist() for k, v in data.losses.items()} == {
        "mixtral-8x7b": [0.0, 1.0],
        "gpt-4": [1.0, 0.0],
    }
    assert "2 prompts of 2 subjects" in repr(data)


def test_a_folder_is_looked_at_first(tmp_path, small_table, monkeypatch):
    write(tmp_path / "routing" / "mmlu_two_models.csv.gz")
    assert len(load_mmlu_routing(data_home=tmp_path).prompts) == 2
    monkeypatch.setenv("CONDRISK_DATA_HOME", str(tmp_path))
    assert len(load_mmlu_routing().prompts) == 2


def test_another_table_is_refused(tmp_path, small_table):
    with pytest.raises(ValueError, match="is not the published table"):
        load_mmlu_routing(path=write(tmp_path / "t.csv", ROWS[:1]))
    with pytest.raises(ValueError, match="has no column 'gpt4_correct'"):
        load_mmlu_routing(path=write(tmp_path / "t.csv", [], module._COLUMNS[:3]))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        load_mmlu_routing(path=tmp_path / "none.csv")


def test_files_of_the_repository_become_the_table(tmp_path, small_table, monkeypatch):
    """What pooch fetches, one file for each subject, is put together and kept."""
    pooch = pytest.importorskip("pooch")
    asked = []

    def retrieve(url, known_hash, name, folder):
        asked.append(url)
        subject = name.removeprefix("mmlu_").removesuffix(".csv")
        rows = [row[1:] for row in ROWS if row[0] == subject]
        write(folder / name, rows, module._PUBLISHED)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert len(load_mmlu_routing(data_home=tmp_path).prompts) == 2
    assert len(asked) == 57
    assert load_mmlu_routing(data_home=tmp_path).losses["gpt-4"].tolist() == [1.0, 0.0]
    assert len(asked) == 57  # the second time nothing is fetched
    assert not list((tmp_path / "routing" / "mmlu").iterdir())


def test_without_a_network_it_says_where_to_put_the_table(tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch")

    def refuse(*_):
        raise OSError("no network")

    monkeypatch.setattr(pooch, "retrieve", refuse)
    with pytest.raises(FileNotFoundError, match=r"the download failed .*set data_home="):
        load_mmlu_routing(data_home=tmp_path)
