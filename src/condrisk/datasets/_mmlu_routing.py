"""Which MMLU prompts two language models answered correctly."""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._files import write_whole

from ._paper_folds import _find_home

_TABLE = "mmlu_two_models.csv.gz"
_URL = "https://raw.githubusercontent.com/lm-sys/RouteLLM/main/routellm/evals/mmlu/responses"
# The columns of the table, and those of the repository's files, one for each subject.
_COLUMNS = ("subject", "prompt", "mixtral_correct", "gpt4_correct")
_PUBLISHED = ("prompt", "mixtral-8x7b-instruct-v0.1", "gpt-4-1106-preview")
_SHA256 = "45dc7fc78afc931a3d6670e94ebfab3200eabae1930cbbb56000e894f0c9162b"
# Dollars for a million tokens, as the authors of RouteLLM estimate them.
_COSTS = {"mixtral-8x7b": 0.24, "gpt-4": 24.7}
_SUBJECTS = (
    "abstract_algebra",
    "anatomy",
    "astronomy",
    "business_ethics",
    "clinical_knowledge",
    "college_biology",
    "college_chemistry",
    "college_computer_science",
    "college_mathematics",
    "college_medicine",
    "college_physics",
    "computer_security",
    "conceptual_physics",
    "econometrics",
    "electrical_engineering",
    "elementary_mathematics",
    "formal_logic",
    "global_facts",
    "high_school_biology",
    "high_school_chemistry",
    "high_school_computer_science",
    "high_school_european_history",
    "high_school_geography",
    "high_school_government_and_politics",
    "high_school_macroeconomics",
    "high_school_mathematics",
    "high_school_microeconomics",
    "high_school_physics",
    "high_school_psychology",
    "high_school_statistics",
    "high_school_us_history",
    "high_school_world_history",
    "human_aging",
    "human_sexuality",
    "international_law",
    "jurisprudence",
    "logical_fallacies",
    "machine_learning",
    "management",
    "marketing",
    "medical_genetics",
    "miscellaneous",
    "moral_disputes",
    "moral_scenarios",
    "nutrition",
    "philosophy",
    "prehistory",
    "professional_accounting",
    "professional_law",
    "professional_medicine",
    "professional_psychology",
    "public_relations",
    "security_studies",
    "sociology",
    "us_foreign_policy",
    "virology",
    "world_religions",
)


@dataclass(frozen=True, eq=False, repr=False)
class MMLURouting:
    """What `load_mmlu_routing` returns.

    Attributes
    ----------
    prompts : list of str
        14,042 questions with four answers each.
    subjects : ndarray of str
        The subject of each, one of 57. It does not stand in the prompt.
    losses : dict of str to ndarray
        For each model 1 where its answer is wrong and 0 where it is right.
    costs : dict of str to float
        Dollars for a million tokens, as the authors of RouteLLM estimate them.
    """

    prompts: list[str]
    subjects: NDArray[Any]
    losses: dict[str, NDArray[np.float64]]
    costs: dict[str, float] = field(default_factory=lambda: dict(_COSTS))

    def __repr__(self) -> str:
        models = ", ".join(self.losses)
        n, n_subjects = len(self.prompts), len(set(self.subjects.tolist()))
        return f"<MMLURouting: {n} prompts of {n_subjects} subjects, answered by {models}>"


def load_mmlu_routing(
    *, path: str | os.PathLike[str] | None = None, data_home: str | os.PathLike[str] | None = None
) -> MMLURouting:
    """Load the MMLU prompts with what Mixtral 8x7B Instruct and GPT-4 (1106-preview) made of them.

    From the repository of RouteLLM (https://github.com/lm-sys/RouteLLM, Apache 2.0), which asked
    both models all questions of the test part of MMLU.

    Parameters
    ----------
    path : path, default=None
        A CSV file, compressed or not, with the columns subject, prompt, mixtral_correct and
        gpt4_correct. None: as `data_home` says.
    data_home : path, default=None
        Folder with ``routing/mmlu_two_models.csv.gz``. None takes the environment variable
        ``CONDRISK_DATA_HOME`` or else a folder in the user's cache. What is not there is downloaded
        with pooch (``pip install "condrisk[download]"``), 57 files of 8 MB in all, and kept.

    Returns
    -------
    MMLURouting
        With ``prompts``, ``subjects``, ``losses`` and ``costs``.

    Raises
    ------
    FileNotFoundError
        Where the table is not there and cannot be fetched.
    ValueError
        Where it is not the published table.

    Examples
    --------
    >>> from condrisk.datasets import load_mmlu_routing
    >>> load_mmlu_routing()  # doctest: +SKIP
    <MMLURouting: 14042 prompts of 57 subjects, answered by mixtral-8x7b, gpt-4>
    """
    table = _find_home(data_home) / "routing" / _TABLE if path is None else Path(path)
    if path is None and not table.exists():
        rows = _fetch(table)
        _check(rows, "the download")
        _write(rows, table)
    else:
        rows = _read(table)
        _check(rows, str(table))
    subjects, prompts, small, large = zip(*rows, strict=True)
    wrong = [np.array([cell != "True" for cell in column], float) for column in (small, large)]
    losses = dict(zip(_COSTS, wrong, strict=True))
    return MMLURouting(list(prompts), np.array(subjects), losses)


Row = tuple[str, str, str, str]


def _read(table: Path) -> list[Row]:
    if not table.exists():
        raise FileNotFoundError(f"{table} does not exist.")
    with open(table, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    opened: Any = gzip.open if packed else open
    with opened(table, "rt", encoding="utf-8", newline="") as text:
        return _rows(csv.DictReader(text), _COLUMNS, str(table))


def _rows(reader: csv.DictReader[str], columns: Iterable[str], where: str) -> list[Any]:
    missing = [name for name in columns if name not in (reader.fieldnames or ())]
    if missing:
        raise ValueError(f"{where} has no column {missing[0]!r}.")
    return [tuple(row[name] for name in columns) for row in reader]


def _check(rows: list[Row], where: str) -> None:
    """Refuse what is not the published table, whatever file it came in."""
    digest = hashlib.sha256("\x1e".join("\x1f".join(row) for row in rows).encode()).hexdigest()
    if digest != _SHA256:
        raise ValueError(
            f"{where} is not the published table (its SHA-256 differs): put an intact copy in its "
            f"place, or remove it to have it downloaded again."
        )


def _fetch(table: Path) -> list[Row]:
    """Return the rows of all files of the repository."""
    try:
        import pooch
    except ImportError:
        reason = 'pooch is not installed (pip install "condrisk[download]")'
        raise FileNotFoundError(_how_to_place(table, reason)) from None
    rows: list[Row] = []
    folder = table.parent / "mmlu"
    for subject in _SUBJECTS:
        name = f"mmlu_{subject}.csv"
        try:
            pooch.retrieve(f"{_URL}/{name}", None, name, folder)
        except OSError as error:
            reason = f"the download failed ({type(error).__name__})"
            raise FileNotFoundError(_how_to_place(table, reason)) from None
        with open(folder / name, encoding="utf-8", newline="") as text:
            rows += [(subject, *row) for row in _rows(csv.DictReader(text), _PUBLISHED, name)]
    return rows


def _write(rows: list[Row], table: Path) -> None:
    """Keep the table, whole, in place of the files that it was made of."""
    import io

    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([_COLUMNS, *rows])
    table.parent.mkdir(parents=True, exist_ok=True)
    write_whole(table, gzip.compress(text.getvalue().encode(), mtime=0))
    for subject in _SUBJECTS:
        (table.parent / "mmlu" / f"mmlu_{subject}.csv").unlink(missing_ok=True)


def _how_to_place(table: Path, reason: str) -> str:
    return (
        f"{table} is not there and {reason}: make it of the files in "
        f"routellm/evals/mmlu/responses of https://github.com/lm-sys/RouteLLM, with the columns "
        f"{', '.join(_COLUMNS)}, and give it as path=, or set data_home= or the environment "
        f"variable CONDRISK_DATA_HOME to a folder that has it as routing/{_TABLE}"
    )
