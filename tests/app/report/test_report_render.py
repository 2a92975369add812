"""The page as text: it is whole, loads nothing, and the user's text cannot get out of its place."""

import base64
import hashlib
import html.parser
import json
import re

import numpy as np
import polars as pl
import pytest

from condrisk.app import _numbers
from condrisk.app.report import Panel, render, report_from_arrays, report_from_manifest

HOSTILE = [
    "</script><script>alert(1)</script>",
    "\"onmouseover='alert(1)' x=\"",
    "<img src=x onerror=alert(1)>",
    "a\u2028b\u2029c",
    "\u202eevil\u2066",
    "]]><!--",
    "${alert(1)} $data {{x}}",
    "\x00\x08\x1b[31m",
    "&lt;b&gt;",
    "x" * 5_000,
]


class Parsed(html.parser.HTMLParser):
    """All elements, with their attributes, and all text outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self._raw = [], [], None
        self.raw = {"script": [], "style": []}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._raw = tag if tag in self.raw else None

    def handle_endtag(self, tag):
        self._raw = None

    def handle_data(self, data):
        (self.raw[self._raw] if self._raw else self.text).append(data)


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"age": rng.integers(18, 90, n), "city": rng.choice(["Rome", "Oslo"], n)})
    risk = np.where(frame["city"] == "Rome", 2.0, 1.0) * rng.uniform(0.5, 1.5, n)
    return frame, rng.gamma(1.0, risk), risk


def hostile_page():
    n = 400
    frame, loss, risk = table(n)
    values = (HOSTILE * n)[:n]
    frame = pl.DataFrame(
        {name: values if k % 2 else frame["age"] for k, name in enumerate(HOSTILE)}
    )
    high = np.array([values[k] == HOSTILE[0] for k in range(n)]) * 5.0
    loss, risk = loss + high, risk + high
    report = report_from_arrays(
        loss,
        risk,
        frame=frame,
        risk_of=lambda rows: rows[HOSTILE[0]].cast(pl.Float64).to_numpy(),
        prediction=values,
        target=values,
        title=HOSTILE[0] + HOSTILE[1],
        loss_name=HOSTILE[2],
        facts=[(HOSTILE[0], HOSTILE[1])],
        notes=HOSTILE,
        cautions=HOSTILE,
    )
    return render(report), report


def test_hostile_text_stays_text():
    page, report = hostile_page()
    assert report.segments
    assert report.drivers
    frame, loss, risk = table()
    plain = render(
        report_from_arrays(loss, risk, frame=frame, risk_of=lambda rows: rows["age"].to_numpy())
    )
    found, expected = Parsed(page), Parsed(plain)
    for tag in ("script", "style", "img", "iframe", "object", "base", "form", "link", "meta"):
        count = [name for name, _ in found.elements].count(tag)
        assert count == [name for name, _ in expected.elements].count(tag), tag
    names = {name for _, attributes in found.elements for name in attributes}
    assert not {name for name in names if name.startswith("on")}
    assert names <= {name for _, attributes in expected.elements for name in attributes}
    assert not re.search("[\x00-\x08\x0b-\x1f\u2028-\u202e\u2066-\u2069]", page)
    assert "x" * 601 not in page
    seen = "".join(found.text)
    assert "</script><script>alert(1)</script>" in seen  # shown, not dropped
    assert "\\u202eevil\\u2066" in seen


def test_nothing_is_loaded_and_the_policy_forbids_it():
    page = render(report_from_arrays(*table()[1:], frame=table()[0]))
    parsed = Parsed(page)
    for _, attributes in parsed.elements:
        for name in ("src", "href", "action", "data", "srcset", "poster"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:image/svg+xml,"))
        assert "style" not in attributes  # the policy would drop it
    assert not re.findall(r"@import|url\((?!#)", "".join(parsed.raw["style"]))
    (policy,) = [a["content"] for t, a in parsed.elements if a.get("http-equiv")]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["form-action"] == rules["base-uri"] == "'none'"
    assert "unsafe" not in policy
    assert "http:" not in policy
    assert "https:" not in policy
    assert "connect-src" not in policy
    style, script = parsed.raw["style"][0], parsed.raw["script"][-1]
    assert rules["style-src"] == sha(style)
    assert rules["script-src"] == sha(script)


def sha(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_data_in_the_page_are_those_of_the_report():
    frame, loss, risk = table()
    page = render(report_from_arrays(loss, risk, frame=frame, price=0.75))
    data = json.loads(Parsed(page).raw["script"][0])
    assert data["price"] == 0.75
    assert data["by_loss"] == "sorted"
    assert data["steps"]["rows"] is None
    order = np.argsort(risk)
    assert data["steps"]["threshold"] == risk[order].tolist()
    assert data["steps"]["loss"] == loss[order].tolist()
    assert sum(data["bars"]["rows"]) == len(risk)


def test_the_same_report_gives_the_same_page_and_others_do_not():
    frame, loss, risk = table()
    first, again = (render(report_from_arrays(loss, risk, frame=frame)) for _ in range(2))
    assert first == again
    assert first != render(report_from_arrays(loss, risk, frame=frame, price=9.0))


def test_a_page_of_many_rows_stays_small():
    rng = np.random.default_rng(0)
    risk = rng.gamma(1.0, 1.0, 300_000)
    page = render(report_from_arrays(rng.gamma(1.0, risk), risk))
    assert len(page) < 500_000
    assert "exact sums over the 300,000 rows at 2,000 thresholds" in page


def test_a_panel_is_put_in_and_may_talk_to_its_server():
    report = report_from_arrays(*table()[1:])
    page = render(report, panel=Panel("<section id=try></section>", "f();", ".a { color: red; }"))
    parsed = Parsed(page)
    assert ("section", {"id": "try"}) in parsed.elements
    assert "connect-src 'self'" in page
    assert sha(parsed.raw["script"][-1]) in page
    assert parsed.raw["script"][-1].endswith("f();")
    assert sha(parsed.raw["style"][0]) in page
    with pytest.raises(ValueError, match="panel must have no </"):
        render(report, panel=Panel("", "x = '</script>'"))


def test_a_manifest_without_rows_has_no_table_and_says_why():
    groups = [[50, 0.1, 0.0, 0.2, 0.1, 0.1], [50, 0.6, 0.3, 0.9, 0.5, 0.5]]
    manifest = {"target": "<y>", "loss": "zero_one", "profile": groups, "rows": 500, "cost": 0.3}
    page = render(report_from_manifest(manifest))
    assert "Risk of predicting &lt;y&gt;" in page
    assert "the riskiest rows" not in page.lower()
    assert "perfect foresight" not in page.split("<script")[0]
    assert "condrisk report MODEL TABLE" in page
    assert 'value="0.3"' in page


def test_words_say_the_break_even_prices():
    loss, risk = [0.0, 1.0, 3.0, 2.0], [0.5, 0.5, 2.0, 1.0]
    page = render(report_from_arrays(loss, risk))
    text = re.sub(r"<[^>]+>", " ", page)
    assert re.search(r"below 0\.5\s+Defer everything", text)
    assert re.search(r"from 2\s+Defer nothing", text)
    assert re.search(r"at 1\.5\s+Always and never deferring cost the same", text)
    free = re.sub(r"<[^>]+>", " ", render(report_from_arrays([0.0, 1.0], [0.0, 1.0])))
    assert "Defer everything only if that costs nothing" in free
    hardly = render(report_from_arrays([0.0, 1.0], [1e-16, 1.0]))
    assert "Defer everything only if that costs nothing" in hardly


@pytest.mark.parametrize(
    ("loss", "risk"),
    [([0.0], [0.0]), ([1.0], [0.5]), ([0.0] * 5, [0.0] * 5), ([1.0, 2.0], [1e-300, 1e12]),
     ([-1.0, -2.0, 3.0], [-0.5, -1.5, 2.0]), ([1e149] * 3, [1e149, 1.0, 0.0])],
)  # fmt: skip
def test_odd_rows_make_a_page_all_the_same(loss, risk):
    page = render(report_from_arrays(loss, risk, frame=pl.DataFrame({"a": range(len(loss))})))
    assert json.loads(Parsed(page).raw["script"][0])["scale"]["low"] is not None
    assert "nan" not in re.sub(r"<script>.*", "", page, flags=re.DOTALL).lower()


def test_a_lone_surrogate_does_not_keep_the_page_from_being_written():
    page = render(report_from_arrays([1.0], [1.0], title="a\ud800b", facts=[("x", "\udfff")]))
    assert page.encode()
    assert "a\\ud800b" in page


def test_classes_that_are_confused_are_counted_and_the_rare_ones_taken_together():
    rng = np.random.default_rng(0)
    true = ["c3"] * 600 + [f"c{k}" for k in rng.integers(0, 14, 1_400)]
    said = [name if rng.random() < 0.8 else "c3" for name in true]
    loss = np.array([a != b for a, b in zip(true, said, strict=True)], dtype=float)
    options = {"classes": sorted(set(true)), "target": true, "prediction": said}
    found = report_from_arrays(loss, np.full(2_000, 0.2), loss_name="zero_one", **options).confusion
    assert found.counts.sum() == 2_000
    assert len(found.labels) == 10
    assert found.labels[-1] == "all others"
    for one in found.errors[:-1]:
        rows = [k for k in range(2_000) if true[k] == one.label]
        assert one.rows == len(rows)
        assert one.wrong == int(loss[rows].sum())
        assert one.low <= one.wrong / one.rows <= one.high
        assert one.taken_for == ("c3" if one.wrong else "")
    assert found.labels[0] == "c3"


def test_amounts_are_written_in_the_way_of_their_loss():
    def page(loss_name, unit=""):
        text = render(report_from_arrays([4.0, 0.25], [1.0, 0.5], loss_name=loss_name, unit=unit))
        return re.sub(r"<[^>]+>", "", text.split("<script")[0])

    assert "about ±\u00a01.46\u00a0g" in page("squared_error", "g")  # √2.125
    assert "2.13\u00a0g" in page("absolute_error", "g")
    percent = render(report_from_arrays([0.0, 1.0], [0.25, 0.5], loss_name="zero_one", price=0.3))
    assert 'data-figure="never">50\u00a0%' in percent
    assert "<i>" not in page("squared_error", "<i>g</i>")


def test_numbers_are_for_people():
    assert _numbers.number(1234.5) == "1,235"
    assert _numbers.number(999.7) == "1,000"
    for power in range(-2, 9):
        assert "e" not in _numbers.number(1.234 * 10.0**power)
    assert _numbers.number(float("nan")) == "–"
    assert _numbers.number(-0.0) == "0"
    assert _numbers.percent(0.0) == "0\u00a0%"
