"""Run a page of the documentation as a reader would: every block, in order, in one folder.

Blocks of ``python`` share one session, which finds modules in that folder. Blocks of ``console``
share one shell: a line that begins with ``$ `` is typed into it (a backslash at its end continues
it), and other lines are what it must print: ``...`` stands for anything, and numbers may differ by
a tenth. A block with a title is the file of that name, which other blocks then use. A block stays
out only below ``<!-- not run: REASON -->``.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from types import TracebackType
from typing import Any

RUN = ("python", "console")
SHOWN = ("text", "json", "toml", "yaml", "csv", "html")  # languages that nobody would run
_FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_REASON = re.compile(r"<!-- not run: (.+?) -->\s*\Z", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_SECONDS = 300  # for one command, on a busy machine


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    text: str
    line: int
    title: str | None  # the file that it is
    not_run: str | None  # the reason, if it stays out

    def commands(self) -> list[tuple[str, str]]:
        """Return the commands of a console block, each with what it must print."""
        found: list[tuple[str, str]] = []
        typed: list[str] | None = None
        for line in self.text.splitlines():
            if typed is not None and typed[-1].endswith("\\"):
                typed.append(line)
                found[-1] = ("\n".join(typed), "")
            elif line.startswith("$ "):
                typed = [line[2:]]
                found.append((line[2:], ""))
            elif found:
                typed = None
                found[-1] = (found[-1][0], found[-1][1] + line + "\n")
            else:
                raise ValueError(f"A console block must begin with a command: {line!r}.")
        return found


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found = []
    for match in _FENCE.finditer(text):
        reason = _REASON.search(text[: match.start()])
        title = re.search('title="([^"]+)"', match[2])
        found.append(
            Block(
                language=match[2].split(" ")[0],
                text=dedent(match[3]),
                line=text[: match.start()].count("\n") + 1,
                title=title and title[1],
                not_run=reason and reason[1],
            )
        )
    return found


class Shell:
    """A shell in a folder, which lives as long as the page."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env=environment(),
            start_new_session=True,
        )

    def __enter__(self) -> Shell:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()  # and with it what a page has left running

    def _stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def run(self, command: str) -> tuple[int, str]:
        """Type a command; return its exit status and what it printed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        end = "@@ end of command @@"
        self.process.stdin.write(
            f"{{ {command}\n}} < /dev/null; status=$?; echo; echo '{end}' $status\n"
        )
        self.process.stdin.flush()
        alarm = threading.Timer(_SECONDS, os.killpg, (self.process.pid, signal.SIGKILL))
        alarm.start()
        printed = ""
        try:
            for line in self.process.stdout:
                if line.startswith(end):
                    return int(line.split()[-1]), printed
                printed += line
        finally:
            alarm.cancel()
        raise AssertionError(
            f"The shell ended, or {_SECONDS} s were over, in: {command}\n{printed}"
        )


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "MPLBACKEND": "Agg",
    }


def run_page(page: Path, folder: Path, *, before: str = "") -> None:
    """Run every block of a page in a folder; `before` is Python that its fragments rest on."""
    session: dict[str, Any] = {"__name__": "__page__"}
    exec(compile(before, f"before {page}", "exec"), session)
    page = page.resolve()
    with chdir(folder), modules_of(folder), Shell(folder) as shell:
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.title:
                (folder / block.title).write_text(block.text, encoding="utf-8")
            elif block.not_run or block.language not in RUN:
                continue
            elif block.language == "python":
                exec(_code(block, page), session)
            else:
                run_console(block, shell, f"{page.name}:{block.line}")


@contextmanager
def modules_of(folder: Path) -> Iterator[None]:
    """Find modules in a folder, as an interpreter does that was started there; then forget them."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(f"{folder}{os.sep}"):
                del sys.modules[name]


def _code(block: Block, page: Path) -> Any:
    # Lines are those of the page, so that a traceback leads there.
    return compile("\n" * block.line + block.text, str(page), "exec")


def run_console(block: Block, shell: Shell, where: str) -> None:
    """Type the commands of a block, and compare what they print where the page shows it."""
    for command, wanted in block.commands():
        status, printed = shell.run(command)
        assert status == 0, f"{where}: {command}\nended with {status}:\n{printed}"
        if wanted.strip() and not shows(wanted, printed):
            raise AssertionError(
                f"{where}: {command}\nThe page shows:\n{wanted}\nIt printed:\n{printed}"
            )


def shows(wanted: str, printed: str) -> bool:
    """Return whether a page shows what was printed.

    Numbers depend a little on the machine, and the width of a table on its numbers.
    """
    found = re.fullmatch(r"\s*" + _pattern(wanted.strip()) + r"\s*", printed, re.DOTALL)
    if found is None:
        return False
    pairs = zip(_NUMBER.findall(wanted), found.groups(), strict=True)
    return all(math.isclose(_value(a), _value(b), rel_tol=0.1, abs_tol=0.01) for a, b in pairs)


def _pattern(wanted: str) -> str:
    parts = re.split(rf"({_NUMBER.pattern}|\.\.\.|\s+|[─-╿]+)", wanted)
    return "".join(_part(part) for part in parts)


def _part(part: str) -> str:
    if _NUMBER.fullmatch(part):
        return f"({_NUMBER.pattern})"
    if part == "...":
        return ".*?"
    if part.isspace():
        return r"\s*"
    if re.fullmatch("[─-╿]+", part):
        return "[─-╿]+"
    return re.escape(part)


def _value(number: str) -> float:
    return float(number.replace(",", ""))
