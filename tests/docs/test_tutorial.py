"""The README's commands are those that the tutorial runs, to the letter."""

import re
from pathlib import Path

from page_session import blocks

ROOT = Path(__file__).parents[2]


def commands(text):
    return [
        command
        for block in blocks(text)
        if block.language == "console" and not block.not_run
        for command, _ in block.commands()
    ]


def readme_commands():
    text = (ROOT / "README.md").read_text("utf-8")
    [part] = re.findall("<!-- begin tutorial -->(.*?)<!-- end tutorial -->", text, re.DOTALL)
    return commands(part)


def tutorial():
    return (ROOT / "docs" / "tutorial.md").read_text("utf-8")


def test_readme_gives_the_commands_that_the_tutorial_runs_in_that_order():
    # `test_pages_run` runs the tutorial; the same words here are the same commands there.
    run = iter(commands(tutorial()))
    assert all(command in run for command in readme_commands())


def test_readme_shows_three_commands_and_names_the_others():
    assert [command.split()[1] for command in readme_commands()] == ["fit", "score", "report"]
    text = (ROOT / "README.md").read_text("utf-8")
    for command in ("inspect", "serve", "monitor", "compare", "export"):
        assert f"`{command}`" in text


def test_who_has_a_table_writes_no_python():
    # The one block of Python makes the table of somebody who has none.
    written = [block for block in blocks(tutorial()) if block.language == "python"]
    assert len(written) == 1
    assert "python" not in " ".join(commands(tutorial()))
