"""Commands that are imported when they are run: what does not run one is quick."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# In the order of the list that `condrisk --help` shows, with the first line of each docstring.
COMMANDS = {
    "quickstart": "Fit a predictor, estimate its risk row by row, defer at several costs, and "
    "show it all.",
    "fit": "Fit a model to a table, and say what it will do on new rows.",
    "route-fit": "Fit a router to a table: which of several models answers each row.",
    "inspect": "Show what a model file says about itself, without loading the model.",
    "score": "Add prediction, risk and decision to every row of a table, however many rows it has.",
    "report": "Write one HTML page about a model's risk: a cost to move, curves, segments, rows.",
    "compare": "Compare two models on the same rows: costs, ranking and calibration, in pairs.",
    "serve": "Answer over HTTP: prediction, risk and decision for rows as they come, and a page to "
    "look at.",
    "monitor": "Tell what loss to expect of new rows, chunk by chunk, before and after labels "
    "come.",
    "export": "Write predictor, risk and decision as one ONNX graph, or as an MLflow model.",
    "reproduce": "Run the paper's experiments, next to its numbers.",
}


class LazyCommand(TyperCommand):
    """A name and a line of help, and the command itself once there are arguments to parse."""

    def make_context(
        self, info_name: Any, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse arguments as the command itself does."""
        return self.load().make_context(info_name, args, parent, **extra)

    def load(self) -> Any:
        """Import the command."""
        name = self.name or ""
        made = typer.Typer(rich_markup_mode=None)
        if name == "reproduce":
            from condrisk.paper._cli import reproduce

            made.add_typer(reproduce, name=name)
        else:
            own = name.replace("-", "_")
            made.command(name)(getattr(import_module(f"condrisk.app.cli._{own}"), own))
        command: Any = typer.main.get_group(made).commands[name]
        for each in (command, *getattr(command, "commands", {}).values()):
            each.help = wrapped_by_terminal(each.help or "")
        for each in getattr(command, "commands", {}).values():
            each.short_help = each.help.split("\n\n")[0]  # else click cuts it short
        return command


_EXAMPLE = re.compile(r"([^:]*:) (condrisk .+)")


def wrapped_by_terminal(text: str) -> str:
    """Return help whose paragraphs are lines: the terminal breaks them, and no example."""
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")]
    parts = [_EXAMPLE.sub("\b\n\\1\n  \\2", part) for part in paragraphs]
    # A long example goes on after a backslash, as a shell takes it.
    return "\n\n".join(part.replace(" \\ ", " \\\n    ") for part in parts)


class LazyGroup(TyperGroup):
    """The group of all commands, none of which is imported yet."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, text in COMMANDS.items():
            self.add_command(LazyCommand(name, callback=None, help=text, short_help=text))
