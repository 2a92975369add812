import builtins
import functools
import gzip
import hashlib
import http.server
import os
import socket
import threading
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import requests
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from condrisk.datasets import UCI_NAMES, _paper_folds, load_uci
from condrisk.datasets._uci import _catalogue

SHAPES = {
    "airfoil": (1503, 5),
    "concrete": (1030, 8),
    "energy": (768, 8),
    "forest": (517, 12),
    "housing": (506, 13),
    "parkinsons": (5875, 19),
    "solar": (1066, 10),
    "wine": (1599, 11),
}

# A row of the source file, typed from it, as (index, features, target).
ROWS = {
    "airfoil": (0, [800, 0, 0.3048, 71.3, 0.00266337], 126.201),
    "concrete": (0, [540, 0, 0, 162, 2.5, 1040, 676, 28], 79.98611076),
    "energy": (0, [0.98, 514.5, 294, 110.25, 7, 2, 0, 0], 15.55),
    # 9,9,jul,tue,85.8,48.3,313.4,3.9,18,42,2.7,0,0.36
    "forest": (138, [9, 9, 7, 2, 85.8, 48.3, 313.4, 3.9, 18, 42, 2.7, 0], np.log1p(0.36)),
    "housing": (
        0,
        [0.00632, 18, 2.31, 0, 0.538, 6.575, 65.2, 4.09, 1, 296, 15.3, 396.9, 4.98],
        24,
    ),
    "parkinsons": (
        0,
        [
            *(72, 0, 5.6431, 0.00662, 3.38e-5, 0.00401, 0.00317, 0.01204, 0.02565, 0.23, 0.01438),
            *(0.01309, 0.01662, 0.04314, 0.01429, 21.64, 0.41888, 0.54842, 0.16006),
        ],
        34.398,
    ),
    "solar": (1, [4, 18, 15, 1, 3, 1, 1, 2, 1, 1], 0),  # D,R,O,...
    "wine": (0, [7.4, 0.7, 0, 1.9, 0.076, 11, 34, 0.9978, 3.51, 0.56, 5], 9.4),
}

# Figures of the targets as others report them.
MEANS = {
    "airfoil": 124.835943,
    "concrete": 35.817836,
    "energy": 22.307195,
    "housing": 22.532806,
    "parkinsons": 29.018942,
    "solar": 320 / 1066,
    "wine": 10.422983,
}


@pytest.mark.parametrize("name", UCI_NAMES)
class TestEmbedded:
    def test_shapes_and_names(self, name):
        d = load_uci(name)
        rows, features = SHAPES[name]
        assert d.data.shape == (rows, features)
        assert d.target.shape == (rows,)
        assert d.data.dtype == d.target.dtype == np.float64
        assert np.isfinite(d.data).all()
        assert np.isfinite(d.target).all()
        assert len(d.feature_names) == len(set(d.feature_names)) == features
        assert all(n.isidentifier() and n == n.lower() for n in d.feature_names)
        assert d.target_name not in d.feature_names
        assert set(d.units) <= {*d.feature_names, d.target_name}
        assert (d.groups is not None) == (name == "parkinsons")

    def test_row_of_the_source(self, name):
        index, features, target = ROWS[name]
        d = load_uci(name)
        np.testing.assert_allclose(d.data[index], features, rtol=1e-14)
        np.testing.assert_allclose(d.target[index], target, rtol=1e-14)

    def test_folds_partition_the_rows(self, name):
        d = load_uci(name)
        n = len(d.target)
        assert len(d.folds) == 10
        tests = [test for _, test in d.folds]
        np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(n))
        assert {len(t) for t in tests} <= {n // 10, n // 10 + 1}
        for train, test in d.folds:
            np.testing.assert_array_equal(np.union1d(train, test), np.arange(n))
            assert len(train) + len(test) == n
            assert (np.diff(test) > 0).all()
            assert (np.diff(test) > 1).any()  # shuffled, not a block

    def test_description_names_every_column_source_and_licence(self, name):
        d = load_uci(name)
        for column in [*d.feature_names, d.target_name]:
            assert f"  {column}" in d.descr
        assert "Source: " in d.descr
        assert "10.24432/" in d.descr or name == "housing"
        assert "Licence: CC BY 4.0" in d.descr or name == "housing"

    def test_each_call_gives_fresh_arrays(self, name):
        first = load_uci(name)
        first.data[:] = np.nan
        first.folds.clear()
        assert np.isfinite(load_uci(name).data).all()
        assert len(load_uci(name).folds) == 10


@pytest.mark.parametrize(("name", "mean"), MEANS.items())
def test_mean_of_the_target(name, mean):
    assert load_uci(name).target.mean() == pytest.approx(mean, abs=1e-6)


def test_folds_are_pinned():
    digest = hashlib.sha256()
    for name in UCI_NAMES:
        for _, test in load_uci(name).folds:
            digest.update(test.astype("<i8").tobytes())
    assert digest.hexdigest() == (
        "c32e30aef22b277407c4ee3fe016ed292e4f79869f95f169383c2a50105537f9"
    )


def test_forest_target_is_log_of_the_area():
    area = np.expm1(load_uci("forest").target)
    np.testing.assert_allclose(area, np.round(area, 2), atol=1e-9)
    assert (area == 0).sum() == 247
    assert area.max() == pytest.approx(1090.84)


def test_solar_codes():
    d = load_uci("solar")
    letters = {chr(64 + int(v)) for v in np.unique(d.data[:, 0])}
    assert letters == set("BCDEFH")
    assert (d.data[:, 9] == 1).all()


def test_patients():
    d = load_uci("parkinsons")
    assert d.groups.min() == 1
    assert len(np.unique(d.groups)) == d.groups.max() == 42
    assert (np.diff(d.groups) >= 0).all()
    for patient in range(1, 43):
        rows = d.groups == patient
        assert len(np.unique(d.data[rows, :2], axis=0)) == 1
        # The score is interpolated between visits: close in time is close in score.
        order = np.argsort(d.data[rows, 2], kind="stable")
        time, score = d.data[rows, 2][order], d.target[rows][order]
        assert (np.abs(np.diff(score))[np.diff(time) < 0.01] < 0.01).all()


def test_two_patients_of_equal_age_and_sex_are_told_apart():
    d = load_uci("parkinsons")
    border = 2134
    assert (d.data[border - 1, :2] == d.data[border, :2]).all()
    assert d.groups[border - 1] + 1 == d.groups[border]


def test_size_in_the_package():
    folder = Path(str(files("condrisk.datasets") / "data"))
    tables = {path.name for path in folder.iterdir()} - {"catalogue.json"}
    assert tables == {f"{name}.csv.gz" for name in UCI_NAMES}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_000_000


def test_header_in_the_files_is_the_catalogue():
    assert tuple(_catalogue()) == UCI_NAMES
    for name, entry in _catalogue().items():
        with (files("condrisk.datasets") / "data" / f"{name}.csv.gz").open("rb") as packed:
            header = gzip.decompress(packed.read()).decode().partition("\n")[0].split(",")
        groups = [entry["groups"]] if entry["groups"] else []
        assert header == groups + [column[0] for column in entry["columns"]]


def test_another_target():
    usual, other = load_uci("wine"), load_uci("wine", target="quality")
    assert usual.target_name == "alcohol"
    assert usual.feature_names[10] == "quality"
    assert other.target_name == "quality"
    assert other.feature_names == [*usual.feature_names[:10], "alcohol"]
    np.testing.assert_array_equal(other.target, usual.data[:, 10])
    np.testing.assert_array_equal(other.data[:, 10], usual.target)
    np.testing.assert_array_equal(other.data[:, :10], usual.data[:, :10])
    assert set(np.unique(other.target)) == {3, 4, 5, 6, 7, 8}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "boston"}, r"name must be one of airfoil, .*wine; got 'boston'"),
        ({"name": "wine", "target": "colour"}, r"target must be one of fixed_.*, alcohol; got"),
        ({"name": "parkinsons", "target": "patient"}, r"target must be one of age, "),
        (
            {"name": "wine", "folds": "random"},
            r"folds must be one of embedded, paper; got 'random'",
        ),
        ({"name": None}, r"name must be one of .*; got None"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        load_uci(**arguments)


# The files of uci_datasets ------------------------------------------------------------------------


@functools.cache
def find_data_home():
    """CONDRISK_DATA_HOME, or a data home beside the checkout."""
    given = os.environ.get("CONDRISK_DATA_HOME")
    beside = sorted(Path(__file__).resolve().parents[3].glob("*/data"))
    homes = [Path(given)] if given else beside
    return next((h for h in homes if (h / "uci" / "wine" / "data.csv.gz").exists()), None)


@pytest.fixture
def data_home():
    if find_data_home() is None:
        pytest.skip("no data home with the files of uci_datasets: set CONDRISK_DATA_HOME")
    return find_data_home()


@pytest.mark.parametrize("name", UCI_NAMES)
def test_paper_data_and_folds(name, data_home):
    d = load_uci(name, folds="paper", data_home=data_home)
    rows, features = SHAPES[name]
    assert d.data.shape == (rows, features + (name == "parkinsons"))
    assert len(d.feature_names) == d.data.shape[1]
    for column in [*d.data.T, d.target]:
        assert abs(column.mean()) <= rounding(column).max()
    assert len(d.folds) == 10
    tests = np.concatenate([test for _, test in d.folds])
    np.testing.assert_array_equal(np.sort(tests), np.arange(rows))
    for train, test in d.folds:
        assert len(test) in (rows // 10, rows // 10 + 1)
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(rows))
    assert "mean-centred" in d.descr


def test_paper_patients_are_the_embedded_ones(data_home):
    paper = load_uci("parkinsons", folds="paper", data_home=data_home)
    assert paper.feature_names[0] == "patient"
    assert paper.feature_names[1:] == load_uci("parkinsons").feature_names
    np.testing.assert_array_equal(paper.groups, load_uci("parkinsons").groups)
    np.testing.assert_array_equal(np.unique(np.diff(paper.data[:, 0]).round(2)), [0, 1])


def centred_as_in_the_paper(name):
    d = load_uci(name)
    table = np.c_[d.data, d.target]
    if name == "concrete":  # rounded half up there
        table[:, :-1] = np.floor(table[:, :-1] * 10 + 0.5 + 1e-6) / 10
    if name in ("concrete", "energy"):
        table[:, -1] = np.round(table[:, -1], 2)
    return table - table.mean(axis=0)


def rounding(values):
    """Half a unit of the fifth significant digit."""
    magnitude = np.floor(np.log10(np.abs(np.where(values == 0, 1, values))))
    return np.where(values == 0, 0, 0.5 * 10.0 ** (magnitude - 4)) * 1.0001 + 1e-9


@pytest.mark.parametrize("name", ["concrete", "parkinsons"])
def test_embedded_rows_are_the_papers_in_order(name, data_home):
    d = load_uci(name, folds="paper", data_home=data_home)
    paper = np.c_[d.data[:, int(name == "parkinsons") :], d.target]
    assert (np.abs(paper - centred_as_in_the_paper(name)) <= rounding(paper)).all()


@pytest.mark.parametrize("name", sorted(set(UCI_NAMES) - {"concrete", "parkinsons"}))
def test_embedded_rows_are_the_papers_in_some_order(name, data_home):
    d = load_uci(name, folds="paper", data_home=data_home)
    paper, ours = np.c_[d.data, d.target], centred_as_in_the_paper(name)
    equal = np.ones((len(paper), len(ours)), dtype=bool)
    for theirs, column in zip(paper.T, ours.T, strict=True):
        equal &= np.abs(theirs[:, None] - column) <= rounding(theirs)[:, None]
    partner = maximum_bipartite_matching(csr_array(equal), perm_type="column")
    assert (partner >= 0).all()


# Fetching them, against a server of our own -------------------------------------------------------


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A small stand-in for the published files of wine, served on this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("CONDRISK_DATA_HOME", raising=False)
    folder = tmp_path / "published" / "wine"
    folder.mkdir(parents=True)
    table, mask = np.arange(240.0).reshape(20, 12), np.arange(20)[:, None] % 10 == np.arange(10)
    np.savetxt(folder / "data.csv.gz", table, delimiter=",")
    np.savetxt(folder / "test_mask.csv.gz", mask, fmt="%d", delimiter=",")
    sha256 = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}
    monkeypatch.setattr(_paper_folds, "_SHA256", {"wine": sha256})

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=folder.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setattr(_paper_folds, "_URL", f"http://127.0.0.1:{server.server_port}")
        yield folder
        server.shutdown()


def files_under(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_missing_files_are_fetched_once(published, tmp_path):
    home = tmp_path / "home"
    d = load_uci("wine", folds="paper", data_home=home)
    assert d.data.shape == (20, 11)
    np.testing.assert_array_equal(d.folds[3][1], [3, 13])
    assert files_under(home) == ["uci/wine/data.csv.gz", "uci/wine/test_mask.csv.gz"]
    (published / "data.csv.gz").unlink()
    (published / "test_mask.csv.gz").unlink()
    np.testing.assert_array_equal(load_uci("wine", folds="paper", data_home=home).data, d.data)


def test_only_the_missing_file_is_fetched(published, tmp_path):
    folder = tmp_path / "home" / "uci" / "wine"
    folder.mkdir(parents=True)
    (published / "data.csv.gz").rename(folder / "data.csv.gz")
    assert load_uci("wine", folds="paper", data_home=tmp_path / "home").data.shape == (20, 11)


def test_home_from_the_environment_and_from_the_cache(published, tmp_path, monkeypatch):
    monkeypatch.setenv("CONDRISK_DATA_HOME", str(tmp_path / "from environment"))
    load_uci("wine", folds="paper")
    assert len(files_under(tmp_path / "from environment")) == 2
    monkeypatch.delenv("CONDRISK_DATA_HOME")
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)
    load_uci("wine", folds="paper")
    assert len(files_under(tmp_path / "cache" / "condrisk")) == 2


def test_wrong_bytes_from_the_server_are_thrown_away(published, tmp_path):
    (published / "test_mask.csv.gz").write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"uci/wine/test_mask\.csv\.gz from .*SHA-256 differs"):
        load_uci("wine", folds="paper", data_home=tmp_path / "home")
    assert files_under(tmp_path / "home") == ["uci/wine/data.csv.gz"]


def test_a_corrupt_file_is_named_and_left_alone(published, tmp_path):
    load_uci("wine", folds="paper", data_home=tmp_path)
    path = tmp_path / "uci" / "wine" / "data.csv.gz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"uci/wine/data\.csv\.gz is not the published file"):
        load_uci("wine", folds="paper", data_home=tmp_path)
    assert path.exists()


def assert_one_sentence_tells_how_to_place_files(caught, home):
    message = str(caught.value)
    assert "\n" not in message
    assert ". " not in message
    assert str(home / "uci" / "wine" / "data.csv.gz") in message
    for part in ("test_mask.csv.gz", "CONDRISK_DATA_HOME", "data_home=", "under uci/wine/"):
        assert part in message
    assert caught.value.__suppress_context__


def test_no_network(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(FileNotFoundError, match=r"the download failed") as caught:
        load_uci("wine", folds="paper", data_home=tmp_path)
    assert_one_sentence_tells_how_to_place_files(caught, tmp_path)
    assert files_under(tmp_path) == []


def test_server_without_the_file(tmp_path, monkeypatch):
    def not_found(*arguments, **options):
        raise requests.exceptions.HTTPError("404")

    monkeypatch.setattr("pooch.retrieve", not_found)
    with pytest.raises(FileNotFoundError, match=r"the download failed \(HTTPError\)") as caught:
        load_uci("wine", folds="paper", data_home=tmp_path)
    assert_one_sentence_tells_how_to_place_files(caught, tmp_path)


def test_no_pooch(tmp_path, monkeypatch):
    real_import = builtins.__import__

    def without_pooch(name, *arguments):
        if name == "pooch":
            raise ImportError(name)
        return real_import(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without_pooch)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("CONDRISK_DATA_HOME", raising=False)
    with pytest.raises(FileNotFoundError, match=r"condrisk\[download\]") as caught:
        load_uci("wine", folds="paper")
    assert_one_sentence_tells_how_to_place_files(caught, tmp_path / ".cache" / "condrisk")
