"""The page in a browser: its numbers are those of `condrisk.metrics`."""

from xml.etree import ElementTree

import numpy as np
import pytest
from shown import LOSS, RISK, START, arrays, check_numbers, figure, price_of

from condrisk.app import _numbers
from condrisk.app.report import Panel, render, report_from_arrays
from condrisk.metrics import (
    cost_curve,
    deferral_loss,
    deferral_rate,
    risk_calibration_curve,
    risk_coverage_curve,
)

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")


def test_the_page_starts_with_the_numbers_of_its_price(visit):
    page = visit()
    assert price_of(page) == START
    check_numbers(page, START)


def test_moving_the_slider_moves_all_numbers(visit):
    page = visit()
    seen = set()
    for place in ("0", "150", "420", "700", "1000"):
        page.locator("#slider").fill(place)
        price = price_of(page)
        check_numbers(page, price)
        seen.add((price, figure(page, "rate"), figure(page, "loss")))
    assert len(seen) == 5


def test_the_slider_moves_by_the_keyboard_and_says_where_it_is(visit):
    page = visit()
    page.locator("#slider").focus()
    page.keyboard.press("ArrowRight")
    first = price_of(page)
    assert first > START
    page.keyboard.press("PageUp")
    assert price_of(page) > first
    page.keyboard.press("Home")
    check_numbers(page, price_of(page))
    assert figure(page, "rate") == 1
    page.keyboard.press("End")
    assert figure(page, "rate") == 0
    check_numbers(page, price_of(page))
    said = page.locator("#slider").get_attribute("aria-valuetext")
    assert said.endswith("0\u00a0% deferred")
    sync_api.expect(page.locator("#spoken")).to_contain_text("no row is worth deferring")


def test_any_price_can_be_typed_also_one_that_is_a_risk(visit):
    page = visit()
    for price in (float(RISK[17]), 0.0, 3.14159, 1e6):
        page.locator("#price").fill(repr(price))
        check_numbers(page, price)
    for wrong in ("-1", ""):
        page.locator("#price").fill(wrong)
        assert page.locator("#price-error").is_visible()
        assert page.locator("#price").get_attribute("aria-invalid") == "true"
        assert figure(page, "always") == 1e6  # stays with the last good one
    page.locator("#reset").click()
    assert page.locator("#price-error").is_hidden()
    check_numbers(page, START)


def test_the_histogram_can_be_dragged(visit):
    page = visit()
    page.locator("#histogram").scroll_into_view_if_needed()
    box = page.locator("#histogram .plot > svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + box["height"] / 2)
    page.mouse.up()
    assert price_of(page) > START
    check_numbers(page, price_of(page))


def table_of(page, figure_id):
    return page.evaluate(
        """(id) => [...document.querySelectorAll(`#${id} tbody tr`)].map(
            (row) => [...row.cells].map((cell) => Number(cell.dataset.value)))""",
        figure_id,
    )


def test_the_tables_behind_the_figures_are_the_curves_of_the_metrics(visit):
    page = visit()
    costs = np.array(table_of(page, "cost-curve"))
    curve = cost_curve(LOSS, RISK, costs=costs[:, 0])
    expected = [curve.cost, curve.deferral_loss, curve.deferral_rate, curve.always_defer,
                curve.never_defer, curve.oracle]  # fmt: skip
    np.testing.assert_allclose(costs, np.column_stack(expected), rtol=1e-9, atol=1e-12)
    assert len(costs) == 21

    coverage = np.array(table_of(page, "coverage"))
    whole = risk_coverage_curve(LOSS, RISK)
    at = np.searchsorted(whole.threshold, coverage[:, 2])
    expected = np.column_stack([whole.coverage, whole.selective_loss, whole.threshold])[at]
    np.testing.assert_allclose(coverage, expected, rtol=1e-9)
    assert len(coverage) == 20

    points = np.array(table_of(page, "reliability"))
    bins = risk_calibration_curve(LOSS, RISK)
    expected = np.column_stack([bins.mean_risk, bins.mean_loss, bins.weight])
    np.testing.assert_allclose(points[:, [0, 1, 4]], expected)

    bars = np.array(table_of(page, "histogram"))[:, :3]
    counts, _ = np.histogram(RISK, np.append(bars[:, 0], bars[-1, 1]))
    np.testing.assert_array_equal(bars[:, 2], counts)


def test_markers_and_colours_follow_the_price(visit):
    page = visit()
    places = []
    for position in ("300", "600"):
        page.locator("#slider").fill(position)
        price = price_of(page)
        places.append(
            [
                page.locator("#cost-curve .marker").get_attribute("cx"),
                page.locator("#coverage .marker").get_attribute("cx"),
                page.locator("#histogram .price-line").get_attribute("x1"),
                page.locator("#histogram-left rect").get_attribute("width"),
            ]
        )
        bins = risk_calibration_curve(LOSS, RISK)
        asked = page.locator("#reliability .plot > svg rect.point.ask").count()
        assert asked == (bins.mean_risk > price).sum()
        desc = page.locator("#histogram-desc").text_content()
        n_accepted = np.count_nonzero(price >= RISK)
        assert f"{n_accepted:,} are accepted" in desc
    for first, second in zip(*places, strict=True):
        assert float(first) != float(second)
    # The line on the histogram and the edge between its colours are one.
    assert places[1][2] == places[1][3]


def test_the_verdict_and_its_limits_are_those_of_the_rows(visit):
    page = visit()
    paid = np.where(RISK <= START, LOSS, START)
    margin = 1.959963984540054 * paid.std(ddof=1) / np.sqrt(len(paid))
    said = page.locator("[data-interval=loss]").inner_text()
    low, high = _numbers.number(paid.mean() - margin), _numbers.number(paid.mean() + margin)
    assert said == f"95\u00a0% limits: {low} to {high}"
    now = page.evaluate(f"condriskReport.at({START})")
    for key, gain in (("belowAlways", START - paid), ("belowNever", LOSS - paid)):
        assert now[key]["mean"] == pytest.approx(gain.mean())
        half = 1.959963984540054 * gain.std(ddof=1) / np.sqrt(len(gain))
        assert now[key]["low"] == pytest.approx(gain.mean() - half)
    verdict = page.locator("#verdict").inner_text()
    assert f"{_numbers.number((START - paid).mean())} less than always deferring" in verdict


def test_a_page_of_steps_has_exact_numbers_at_its_thresholds(browser, tmp_path):
    loss, risk = arrays(30_000, seed=3)
    risk = risk + np.random.default_rng(0).uniform(0, 1e-6, len(risk))
    report = report_from_arrays(loss, risk)
    (tmp_path / "many.html").write_text(render(report), encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "many.html").as_uri())
    for price in report.steps.threshold[[0, 700, 1500, -1]]:
        now = page.evaluate(f"condriskReport.at({float(price)!r})")
        assert now["loss"] == pytest.approx(deferral_loss(loss, risk, price), rel=1e-9)
        assert now["rate"] == pytest.approx(deferral_rate(risk, price), abs=1e-9)
    page.close()


def test_numbers_are_written_alike_in_python_and_in_the_page(visit):
    page = visit("one")
    values = [
        0,
        1,
        0.1234,
        1 / 3,
        12.349,
        999.4,
        1000.3,
        123456.7,
        0.00011,
        0.0000123,
        2.5e9,
        -7.77,
    ]
    shares = [0, 1, 0.5, 0.1234, 0.0004, 0.99996, 0.02]
    ours = [_numbers.number(value) for value in values] + [_numbers.percent(s) for s in shares]
    theirs = page.evaluate(
        "([values, shares]) => [...values.map(condriskReport.format.number),"
        " ...shares.map(condriskReport.format.percent)]",
        [values, shares],
    )
    assert theirs == ours


def test_every_figure_can_be_saved_as_a_picture_and_as_data(visit, tmp_path):
    page = visit(accept_downloads=True)
    for figure_id in ("histogram", "cost-curve", "coverage", "reliability"):
        # A browser lets a page save only so many files without being asked.
        for kind in ("SVG", "CSV", *(["PNG"] if figure_id == "reliability" else [])):
            with page.expect_download() as waiting:
                page.locator(f"#{figure_id} .save button", has_text=kind).click()
            path = tmp_path / waiting.value.suggested_filename
            waiting.value.save_as(path)
            assert path.name == f"{figure_id}.{kind.lower()}"
        root = ElementTree.parse(tmp_path / f"{figure_id}.svg").getroot()
        text = " ".join(root.itertext())
        assert page.locator(f"#{figure_id} h2").text_content() in text
        fills = {part.get("fill") for part in root.iter()}
        assert any(fill and fill.startswith("rgb") for fill in fills)
        rows = np.genfromtxt(tmp_path / f"{figure_id}.csv", delimiter=",", skip_header=1)
        shown = np.array(table_of(page, figure_id))
        np.testing.assert_allclose(rows[:, :2], shown[:, :2])
    assert (tmp_path / "reliability.png").read_bytes()[:4] == b"\x89PNG"


def test_groups_far_beyond_all_others_do_not_press_them_together(browser, tmp_path):
    rng = np.random.default_rng(0)
    risk = np.concatenate([rng.uniform(1.0, 2.0, 960), rng.uniform(900, 1000, 40)])
    page = browser.new_page()
    page_text = render(report_from_arrays(risk * rng.exponential(size=1000), risk))
    (tmp_path / "far.html").write_text(page_text, encoding="utf-8")
    page.goto((tmp_path / "far.html").as_uri())
    assert page.locator("#reliability .point.hollow").count() == 1
    assert "beyond the axes" in page.locator("#reliability .beyond").inner_text()
    places = page.eval_on_selector_all(
        "#reliability svg circle.point, #reliability svg rect.point",
        "all => all.map((e) => e.getBoundingClientRect().x)",
    )
    assert max(places) - min(places) > 200
    page.close()


def test_a_phone_has_no_bar_over_its_fields(visit):
    page = visit(viewport={"width": 390, "height": 844})
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.control')).position") == "static"
    )
    wide = visit()
    assert (
        wide.evaluate("getComputedStyle(document.querySelector('.control')).position") == "sticky"
    )


def test_a_panel_runs_its_own_script_and_can_set_the_price(browser, tmp_path):
    panel = Panel("<p id=mine></p>", "condriskReport.price = 2; mine.textContent = 'here';")
    page = browser.new_page()
    (tmp_path / "panel.html").write_text(
        render(report_from_arrays(LOSS, RISK), panel=panel), encoding="utf-8"
    )
    page.goto((tmp_path / "panel.html").as_uri())
    assert page.locator("#mine").inner_text() == "here"
    assert figure(page, "always") == 2
    page.close()


def test_the_loss_of_the_accepted_rows_stands_beside_that_of_all(visit):
    page = visit()
    for price in (0.5, 2.0, 50.0):
        page.fill("#price", str(price))
        change = 1 - LOSS[price >= RISK].mean() / LOSS.mean()
        amount = f"{_numbers.percent(change)} less" if change >= 0.005 else "as much"
        assert page.inner_text("[data-words=ratio]") == f"The accepted rows lose {amount}."
