"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup
from typer.models import ArgumentInfo, OptionInfo

from condrisk.app.cli import EXIT_CODES, app
from condrisk.app.cli._lazy import LazyCommand

_INTRODUCTION = """\
# Command line

Written from the commands themselves by `python -m tools.site_pages`. Each has `--help`, which says
the same. How to use them: [with commands](how-to/index.md#with-commands); which tables they read:
[files](how-to/files.md).

- `condrisk --install-completion` teaches the shell to complete commands and options.
- An output that is there already is replaced only with `--overwrite`. Outputs are checked before
  the work, and written whole or not at all.
- Results go to standard output; notes, progress and errors to standard error. `--quiet` leaves only
  errors, `--json` prints one object.
- Ctrl-C ends a command with a sentence on what is kept: nothing, or for `score` all batches that
  are scored, from which the same command goes on.

## Exit codes

{codes}
"""
_NAMES = {str: "TEXT", int: "INTEGER", float: "NUMBER", Path: "PATH"}


def text() -> str:
    """Return the text of the page."""
    parts = [_INTRODUCTION.format(codes=_exit_codes())]
    for name, function in commands(app, "condrisk"):
        parts.append(_section(name, function))
    return "\n".join(parts)


def _exit_codes() -> str:
    """Return what `condrisk --help` says of them, as a table."""
    found = [line.split(maxsplit=1) for line in EXIT_CODES.splitlines()[1:]]
    rows = [f"| {code} | {meaning} |" for code, meaning in found]
    return "\n".join(["| code | meaning |", "| --: | :-- |", *rows])


def commands(app: typer.Typer, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and the function of every command, groups last."""
    return _functions(typer.main.get_command(app), prefix)


def _functions(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        loaded = command.load() if isinstance(command, LazyCommand) else command
        if isinstance(loaded, TyperGroup):
            yield from _functions(loaded, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", inspect.unwrap(loaded.callback)


def _section(name: str, function: Any) -> str:
    arguments, options = [], []
    hints = get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        if get_origin(hints[parameter.name]) is not Annotated:  # typer's own context
            continue
        kind, info = get_args(hints[parameter.name])[:2]
        if isinstance(info, ArgumentInfo):
            arguments.append(_argument(parameter, kind, info))
        elif not info.hidden:
            options.append(_option(parameter, kind, info))
    usage = " ".join([name, *(["[OPTIONS]"] if options else []), *(a[0] for a in arguments)])
    rows = [[f"`{word.strip('[]')}`", what] for word, what in arguments]
    lines = [f"## {name}", "", "```text", usage, "```", "", _prose(function), ""]
    if rows:
        lines += [_table(["argument", "meaning"], rows), ""]
    if options:
        lines += [_table(["option", "default", "meaning"], options), ""]
    return "\n".join(lines)


def _prose(function: Any) -> str:
    """Return the docstring; an example at the end of a paragraph as a block of its own."""
    paragraphs = []
    for paragraph in (inspect.getdoc(function) or "").split("\n\n"):
        words = " ".join(line.strip() for line in paragraph.splitlines())
        example = re.fullmatch(r"([^:]*):\s+(condrisk .+)", words)
        if example:
            words = f"{example[1]}:\n\n```text\n{example[2]}\n```"
        paragraphs.append(words)
    return "\n\n".join(paragraphs)


def _argument(parameter: inspect.Parameter, kind: Any, info: ArgumentInfo) -> tuple[str, str]:
    word = info.metavar or parameter.name.strip("_").upper()
    optional = parameter.default is not parameter.empty
    return (f"[{word}]" if optional else word), info.help or ""


def _option(parameter: inspect.Parameter, kind: Any, info: OptionInfo) -> list[str]:
    # Inside of Annotated the first name that is given lies where a default would.
    given = [n for n in (info.default, *(info.param_decls or ())) if isinstance(n, str)]
    names = given or [f"--{parameter.name.strip('_').replace('_', '-')}"]
    if _bare(kind) is bool:
        value = "" if given else f" / --no-{names[0][2:]}"
    else:
        value = f" {info.metavar or _value(kind)}"
    what = info.help or ""
    if _is_list(kind) and not re.search("several times|repeated", what):
        what += " May be given several times."
    shown = [*names[:-1], names[-1] + value]
    return [" ".join(f"`{name}`" for name in shown), _default(parameter), what]


def _default(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is parameter.empty:
        return "required"
    if value is None or value is False or value == []:
        return ""
    if value is True:
        return "on"
    return f"`{value.value if isinstance(value, Enum) else value}`"


def _value(kind: Any) -> str:
    bare = _bare(kind)
    if isinstance(bare, type) and issubclass(bare, Enum):
        return "{" + ",".join(str(each.value) for each in bare) + "}"
    return _NAMES.get(bare, str(getattr(bare, "__name__", bare)).upper())


def _bare(kind: Any) -> Any:
    """Return the type inside of unions with None and lists."""
    if get_origin(kind) in (Union, UnionType):
        [kind] = [each for each in get_args(kind) if each is not NoneType]
    return _bare(get_args(kind)[0]) if get_origin(kind) is list else kind


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is list or any(get_origin(each) is list for each in get_args(kind))


def _table(head: list[str], rows: list[list[str]]) -> str:
    rule = [":--"] * len(head)
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, rule, *rows]]
    return "\n".join(['<div class="options" markdown>', "", *lines, "", "</div>"])
