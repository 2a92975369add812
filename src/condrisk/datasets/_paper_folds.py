"""Data and folds as the package `uci_datasets` publishes them."""

import hashlib
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Fold = tuple[NDArray[np.int64], NDArray[np.int64]]

_URL = "https://github.com/treforevans/uci_datasets/raw/master/uci_datasets"

_SHA256 = {
    "airfoil": {
        "data.csv.gz": "1cce82516ac9e564fba52f55d817eb147fc39085f5d7b958ad15b92f4207f23e",
        "test_mask.csv.gz": "dbba6121fb8f900350fe10d724b54faa2b67fcc7bfc3409cf7add717281609e4",
    },
    "concrete": {
        "data.csv.gz": "542c5d9a0d301bdb47550280398dcbbe2fb8404631fc945de1ea6df9ade741c6",
        "test_mask.csv.gz": "fae0926c655e4f9fb5669d0dbf2226bd8ff7daaadbd376adb8f32eac6f752e7e",
    },
    "energy": {
        "data.csv.gz": "431b6df04243db782bbcd45e408373a654334496ebe5d9c9985ab2e826a39f51",
        "test_mask.csv.gz": "217df2cd4cabf818390e26a65384ea113c95b75bd687787a37ed2f87f28c9bb8",
    },
    "forest": {
        "data.csv.gz": "36f3177c8e2e3d8773c0e34116d93ce37f9d58189d861d661bdde2f022999ee7",
        "test_mask.csv.gz": "0c861cacf163cfc50364a4be1376c6e82cff71344b9e12f261dbc0fba0c26854",
    },
    "housing": {
        "data.csv.gz": "9f5b8a1cbc051465dcf10f4298aaccd8a596ea68de0db693159be6e7d07ccf12",
        "test_mask.csv.gz": "4c114b259566dd04b92befc3f22709d77fe1d5a9048cebe2452c50d57056c1ac",
    },
    "parkinsons": {
        "data.csv.gz": "d20ffd9c9e5053a03fff0b770e7b0e076bf856a34538198303c897b6cc6addde",
        "test_mask.csv.gz": "090794e6acb34ce9134ce2ac530b60c408adc646e45f9296adf0e3eb134f1a64",
    },
    "solar": {
        "data.csv.gz": "71f4aa956db1a443c4f8c2c70e213c82cd8fbfc52b2da955d22283d7b9f68fc8",
        "test_mask.csv.gz": "dd3d70f5aadd75d9a459c9f167d582da6ec9ba4ce1ccf9dd9be31026314eb201",
    },
    "wine": {
        "data.csv.gz": "e2ca3346651ddb43fbc6a1355e70e74b7ce68f93059e04405e9cb749c219eae2",
        "test_mask.csv.gz": "df80c2a700eafb42230991dd7a94c08d47baea55dde125a0a0dcae08964d4559",
    },
}


def read_paper_files(
    name: str, data_home: str | os.PathLike[str] | None
) -> tuple[NDArray[np.float64], list[Fold]]:
    """Read the table (the target last) and the ten folds of a set, fetching them if need be."""
    folder = _find_home(data_home) / "uci" / name
    table = np.loadtxt(_verified_file(folder / "data.csv.gz"), delimiter=",")
    is_test = np.loadtxt(_verified_file(folder / "test_mask.csv.gz"), delimiter=",") != 0
    return table, [(np.flatnonzero(~mask), np.flatnonzero(mask)) for mask in is_test.T]


def _find_home(data_home: str | os.PathLike[str] | None) -> Path:
    given = data_home or os.environ.get("CONDRISK_DATA_HOME")
    if given:
        return Path(given).expanduser()
    try:
        import pooch
    except ImportError:
        return Path.home() / ".cache" / "condrisk"
    return Path(pooch.os_cache("condrisk"))


def _verified_file(path: Path) -> Path:
    sha256 = _SHA256[path.parent.name][path.name]
    if not path.exists():
        _fetch(path, sha256)
    if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
        raise ValueError(
            f"{path} is not the published file (its SHA-256 differs): "
            "put an intact copy in its place, or remove it to have it downloaded again"
        )
    return path


def _fetch(path: Path, sha256: str) -> None:
    url = f"{_URL}/{path.parent.name}/{path.name}"
    try:
        import pooch
    except ImportError:
        reason = 'pooch is not installed (pip install "condrisk[download]")'
        raise FileNotFoundError(_how_to_place(path, reason)) from None
    try:
        pooch.retrieve(url, f"sha256:{sha256}", path.name, path.parent)
    except OSError as error:
        # The cause is a screenful of connection internals; its name is what helps.
        reason = f"the download failed ({type(error).__name__})"
        raise FileNotFoundError(_how_to_place(path, reason)) from None
    except ValueError:
        raise ValueError(
            f"the download of {path} from {url} was thrown away, "
            "because it is not the published file (its SHA-256 differs)"
        ) from None


def _how_to_place(path: Path, reason: str) -> str:
    name = path.parent.name
    return (
        f"{path} is not there and {reason}: place data.csv.gz and test_mask.csv.gz, "
        f"from the folder uci_datasets/{name} of https://github.com/treforevans/uci_datasets, "
        f"in {path.parent}, or set data_home= or the environment variable CONDRISK_DATA_HOME "
        f"to a folder that has them under uci/{name}/"
    )
