"""Records on disk: what is read is what was written, or it is noticed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condrisk._files import write_whole
from condrisk.paper import CorruptRecordError, read_records
from condrisk.paper._records import Store, Unit, parse_units, save_unit


def unit(name="energy", fold=0, seconds=1.5):
    records = {
        method: {
            "set": name,
            "fold": fold,
            "method": method,
            "risk_l1": 0.1 + fold,
            "aurc": None,
            "seconds": {"predict": seconds},
        }
        for method in ("LR+LR", "größer")
    }
    return Unit(name, fold, {"study": "rwr"}, records)


def text_of(*units):
    return "".join(line + "\n" for one in units for line in one.to_lines())


def test_units_come_back():
    units = [unit(), unit(fold=1), unit("wine")]
    assert parse_units(text_of(*units)) == (units, [])


def test_times_are_not_part_of_the_checksum():
    fast, slow = (json.loads(unit(seconds=s).to_lines()[0]) for s in (1.0, 2.0))
    assert fast == slow


TEXT = text_of(unit(), unit(fold=1))


@given(st.integers(0, len(TEXT) - 1), st.characters(codec="utf-8"))
def test_a_changed_character_is_noticed_or_changes_nothing_but_times(position, character):
    changed = TEXT[:position] + character + TEXT[position + 1 :]
    units, problems = parse_units(changed)
    if not problems:
        for one in units:
            for record in one.records.values():
                record["seconds"] = {"predict": 1.5}
        heads = [one.to_lines() for one in units]
        originals = [one.to_lines() for one in (unit(), unit(fold=1))]
        # The head has no checksum of its own; the records must be intact.
        assert [lines[1:] for lines in heads] == [lines[1:] for lines in originals]


@given(st.integers(1, len(TEXT) - 2))
def test_a_file_that_was_cut_is_noticed(length):
    units, problems = parse_units(TEXT[:length])
    assert problems or len(units) < 2


@pytest.mark.parametrize("where", ["records.jsonl", "units/energy-00.a.jsonl"])
@pytest.mark.parametrize("how", [lambda raw: raw[:-40], lambda raw: b"\xff\xfe" + raw])
def test_a_corrupt_file_is_named_and_set_aside(tmp_path, where, how):
    told = []
    store = Store(tmp_path, warn=told.append)
    store.units_folder.mkdir()
    if where == "records.jsonl":
        store.finish([unit("wine"), unit()])
        store = Store(tmp_path, warn=told.append)
    else:
        save_unit(unit("wine"), store.units_folder, "a")
        save_unit(unit(), store.units_folder, "a")
    path = tmp_path / where
    path.write_bytes(how(path.read_bytes()))
    raw = path.read_bytes()
    units = store.load({"study": "rwr"})
    assert len(told) == 1
    assert str(path) in told[0]
    aside = path.with_name(path.name + ".corrupt-1")
    assert aside.name in told[0]
    assert aside.read_bytes() == raw
    assert not path.exists()
    assert len(units) == 1  # what is intact is kept, and on disk
    assert Store(tmp_path, warn=told.append).load({"study": "rwr"}) == units
    assert len(told) == 1


def test_finished_records_are_one_file(tmp_path):
    store = Store(tmp_path, warn=pytest.fail)
    with store.alone():
        save_unit(unit(), store.units_folder, "before")
        save_unit(unit(fold=1), store.units_folder, store.run)
        assert len(store.load({"study": "rwr"})) == 2
        store.finish([unit(), unit(fold=1)])
    assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"]
    assert [record["fold"] for record in read_records(tmp_path / "records.jsonl")] == [0, 0, 1, 1]


def test_one_run_at_a_time_works_in_a_folder(tmp_path):
    with Store(tmp_path, warn=pytest.fail).alone():
        second = Store(tmp_path, warn=pytest.fail)
        with pytest.raises(ValueError, match="another run works in folder"), second.alone():
            pass
    with second.alone():
        pass
    assert not list(tmp_path.iterdir())


def test_units_of_another_run_stay_where_nothing_is_locked(tmp_path):
    """The first to finish must not take what the other has not read yet."""
    store = Store(tmp_path, warn=pytest.fail)
    with store.alone():
        assert not store.load({"study": "rwr"})
        save_unit(unit(), store.units_folder, "of another run")
        save_unit(unit(fold=1), store.units_folder, store.run)
        store.finish([unit(fold=1)])
    assert [path.name for path in store.units_folder.iterdir()] == [
        "energy-00.of another run.jsonl"
    ]
    assert {fold for _, fold in store.load({"study": "rwr"})} == {0, 1}


def test_what_killed_runs_have_left_is_cleared(tmp_path):
    store = Store(tmp_path, warn=pytest.fail)
    store.units_folder.mkdir()
    drafts = [
        store.units_folder / ".energy-00.a.jsonl.0123abcd.tmp",
        tmp_path / ".records.jsonl.0123abcd.tmp",
    ]
    mine = tmp_path / ".mine.tmp"
    for path in (*drafts, mine):
        path.write_text("half")
    with store.alone():
        assert not any(draft.exists() for draft in drafts)
    assert mine.exists()


def test_a_corrupt_file_is_not_read(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text(TEXT.replace("0.1", "0.2"))
    with pytest.raises(CorruptRecordError, match=r"records\.jsonl is corrupt.*line 1"):
        read_records(path)


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_whole(path, "old\n")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, "new\n")
    assert path.read_text() == "old\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
