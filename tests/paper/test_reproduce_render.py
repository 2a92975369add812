"""Tables on the terminal, in Markdown, in LaTeX and as pictures."""

import itertools
import re
from io import StringIO

import pytest
from fake_records import ALL_METHODS, fake_records
from rich.console import Console

from condrisk.paper._cli._terminal import to_terminal
from condrisk.paper._render import (
    draw_table,
    escape_latex,
    to_latex,
    to_markdown,
    to_png,
)
from condrisk.paper._table import Cell, Group, Table
from condrisk.paper.rwr._tables import all_tables

NASTY = r"[red]a_b|50% $x^2$ ~{#}\&*"


@pytest.fixture(scope="module")
def tables():
    return all_tables(fake_records(methods=(*ALL_METHODS, "my method"), n_folds=2))


@pytest.fixture(scope="module")
def nasty_tables():
    return all_tables(fake_records(sets=["energy"], methods=("MLP+RF", NASTY), n_folds=2))


def printed(table, width=120):
    console = Console(width=width, file=StringIO(), force_terminal=False)
    console.print(to_terminal(table))
    return console.file.getvalue()


# -- terminal -------------------------------------------------------------------------------------


def test_every_table_fits_a_terminal_of_120(tables):
    for table in tables:
        text = printed(table)
        assert "…" not in text
        assert max(len(line) for line in text.splitlines()) <= 120
        assert all(cell.text in text for row in table.rows for cell in row)


def test_what_looks_like_markup_is_printed_as_it_is(nasty_tables):
    for table in nasty_tables:
        assert NASTY in printed(table, width=300)


def test_shades_reach_the_terminal(tables):
    (table,) = [table for table in tables if table.name == "table4"]
    console = Console(width=120, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(to_terminal(table))
    assert "48;2;90;138;198" in console.file.getvalue()  # 5A8AC6


# -- Markdown -------------------------------------------------------------------------------------


def split_markdown(line):
    assert line.startswith("| ")
    assert line.endswith(" |")
    return [cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]]


def test_markdown_has_every_cell_in_its_place(tables):
    for table in tables:
        lines = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
        header, rule, *rows = [split_markdown(line) for line in lines]
        assert header == [cell.text.replace("\n", " ") for cell in table.header]
        assert rule == [":--"] + ["--:"] * (len(header) - 1)
        assert len(rows) == len(table.rows) + len(table.groups)
        plain = [row for row in rows if any(row[1:])]
        shown = [row for row in table.rows if any(cell.text for cell in row[1:])]
        assert [[c.strip("*") for c in row] for row in plain] == [
            [cell.text for cell in row] for row in shown
        ]


def test_markdown_of_a_nasty_name_stays_in_its_cell(nasty_tables):
    for table in nasty_tables:
        rows = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
        assert {len(split_markdown(row)) for row in rows} == {len(table.header)}


# -- LaTeX ----------------------------------------------------------------------------------------


def assert_balanced(text):
    depth = 0
    for token in re.findall(r"\\.|[{}]", text):
        depth += {"{": 1, "}": -1}.get(token, 0)
        assert depth >= 0
    assert depth == 0


def latex_rows(text):
    body = text.split(r"\endlastfoot")[1].split(r"\end{longtable}")[0]
    return [line for line in body.splitlines() if line.endswith(r" \\")]


@pytest.mark.parametrize("which", ["tables", "nasty_tables"])
def test_latex_is_well_formed(which, request):
    for table in request.getfixturevalue(which):
        text = to_latex(table)
        assert_balanced(text)
        assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 1
        assert text.count(r"\begingroup") == text.count(r"\endgroup") == 1
        columns = re.search(r"\\begin\{longtable\}\{([lr]+)\}", text)[1]
        assert len(columns) == len(table.header)
        rows = latex_rows(text)
        assert len(rows) == len(table.rows)
        headers = [line for line in text.splitlines() if line.startswith(r"\shortstack")]
        assert len(headers) == 2  # on the first page and on the others
        assert text.index(r"\caption") < text.index(r"\endfirsthead") < text.index(r"\endhead")
        for row in [*rows, *headers]:
            assert len(re.findall(r"(?<!\\)&", row)) == len(columns) - 1
        unescaped = re.sub(r"\\.", "", text)  # a backslash takes the character after it along
        assert not re.search(r"[#^~_]", unescaped)
        assert unescaped.count("$") % 2 == 0
        comment, rest = text.split("\n", 1)
        assert comment.startswith("% Needs")
        assert not re.search(r"(?<!\\)%", rest)


def test_latex_escapes_each_special_character():
    expected = (
        r"{[}red{]}a\_b|50\% \$x\textasciicircum{}2\$ "
        r"\textasciitilde{}\{\#\}\textbackslash{}\&{*}"
    )
    assert escape_latex(NASTY) == expected


def test_latex_of_single_cells():
    row = (Cell("a", align="left"), Cell("+∞"), Cell("-1.5", bold=True, background="5A8AC6"))
    table = Table("t", "T", "", (Cell("m", align="left"), Cell("x\ny"), Cell("z")), ())
    text = to_latex(Table(**{**vars(table), "groups": (Group("g", (row,)),)}))
    assert latex_rows(text) == [
        r"a & $+\infty$ & \cellcolor[HTML]{5A8AC6}\textbf{\boldmath$-1.5$} \\"
    ]
    assert r"\shortstack[r]{x\\y}" in text
    assert r"\multicolumn{3}{l}{\textbf{g}} \\*" in text


# -- pictures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["table3", "table4", "table7"])
def test_nothing_is_cut_off_or_in_the_way(tables, name):
    (table,) = [table for table in tables if table.name == name]
    figure = draw_table(table)
    figure.canvas.draw()
    boxes = [(text.get_window_extent(), text.get_text()) for text in figure.axes[0].texts]
    boxes = [(box, text) for box, text in boxes if text]
    for box, text in boxes:
        assert figure.bbox.x0 <= box.x0, text
        assert box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0, text
        assert box.y1 <= figure.bbox.y1, text
    lines = {}
    for box, text in boxes:
        lines.setdefault(round((box.y0 + box.y1) / 2 / 3), []).append((box, text))
    for line in lines.values():
        line.sort(key=lambda item: item[0].x0)
        for (left, _), (right, text) in itertools.pairwise(line):
            assert left.x1 <= right.x0 + 0.5, text


def test_a_picture_has_every_cell_once(tables):
    for table in tables[:2]:
        shown = sorted(text.get_text() for text in draw_table(table).axes[0].texts)
        expected = [cell.text for row in table.rows for cell in row]
        expected += [group.label for group in table.groups]
        for text in set(expected) - {""}:
            assert shown.count(text) >= expected.count(text)


def test_pictures_are_written(tmp_path, nasty_tables):
    for table in nasty_tables[:2]:
        path = tmp_path / f"{table.name}.png"
        to_png(table, path)
        assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="path must end in"):
        to_png(nasty_tables[0], tmp_path / "table.doc")


def test_a_long_table_is_no_strip(tables):
    (table,) = [table for table in tables if table.name == "table7"]
    width, height = draw_table(table).get_size_inches()
    assert 0.5 < width / height < 2
