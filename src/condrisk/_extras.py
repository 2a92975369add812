"""Packages that extras bring: one sentence where one of them is missing."""

from __future__ import annotations

from importlib.util import find_spec


def require(what: str, *packages: str, extra: str) -> None:
    """Raise `ImportError`, with the command that helps, unless packages are installed.

    Parameters
    ----------
    what : str
        What needs them, as the subject of the sentence.
    *packages : str
        Names to import; nothing is imported here.
    extra : str
        The extra of condrisk that brings them.

    Examples
    --------
    >>> from condrisk._extras import require
    >>> require("The library", "numpy", extra="plots")
    >>> require("Drawing", "fancy_lines", extra="plots")
    Traceback (most recent call last):
    ...
    ImportError: Drawing needs fancy_lines, which is not installed: pip install "condrisk[plots]".
    """
    for package in packages:
        if not _is_installed(package):
            raise ImportError(
                f"{what} needs {package.partition('.')[0]}, which is not installed: "
                f'pip install "condrisk[{extra}]".',
                name=package,
            )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False
