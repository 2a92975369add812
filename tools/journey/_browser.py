"""A browser that opens every page, looks for what is wrong with it, and fills in the form."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = Path("/usr/bin/chromium")
WIDTHS = (1280, 390)
COLOURS = ("light", "dark")

TROUBLES = Path(__file__).with_name("troubles.js").read_text(encoding="utf-8")


@contextmanager
def browser() -> Iterator[Any]:
    """Open a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield opened
        opened.close()


def look(opened: Any, url: str, pictures: Path, name: str) -> list[str]:
    """Take pictures of a page in both widths and colours and in print; return what is wrong."""
    pictures.mkdir(parents=True, exist_ok=True)
    troubles: list[str] = []
    for width in WIDTHS:
        for colours in COLOURS:
            context = opened.new_context(
                viewport={"width": width, "height": 900}, color_scheme=colours
            )
            page = context.new_page()
            _listen(page, url, troubles)
            page.goto(url)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=pictures / f"{name}-{width}-{colours}.png", full_page=True)
            found = page.evaluate(f"({TROUBLES}).all()")
            troubles += [f"{width} px, {colours}: {text}" for text in found]
            if width == WIDTHS[0] and colours == "light":
                page.pdf(path=pictures / f"{name}.pdf", format="A4")
            context.close()
    return troubles


def _listen(page: Any, url: str, troubles: list[str]) -> None:
    """Collect errors, and requests to anywhere else."""
    start = url if url.startswith("http") else "file:"
    page.on("console", lambda said: troubles.append(f"console: {said.text}"))
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on(
        "request",
        lambda request: (
            request.url.startswith((start, "data:", "blob:"))
            or troubles.append(f"asked for {request.url}")
        ),
    )


def fill_in(
    opened: Any, url: str, row: dict[str, Any], cost: float | None, pictures: Path
) -> dict[str, Any]:
    """Fill in the form with a row as a person does, in two looks; return what the page says."""
    found: list[dict[str, Any]] = []
    for width, colours in zip(WIDTHS, COLOURS, strict=True):
        context = opened.new_context(
            viewport={"width": width, "height": 900}, color_scheme=colours, device_scale_factor=1
        )
        page, troubles = context.new_page(), []
        _listen(page, url, troubles)
        page.goto(url)
        page.wait_for_selector(".try-verdict")
        for control in page.locator("#try [data-name]").all():
            _fill(control, row[control.get_attribute("data-name")])
        if cost is not None and page.locator("#price").count():
            page.fill("#price", repr(cost))
        said = _answer(page)
        page.locator(".try").screenshot(path=pictures / f"form-{width}-{colours}.png")
        found.append(said | {"far": _far(page), "troubles": troubles})
        context.close()
    first, second = found
    if first != second:
        first["troubles"].append(f"the form says {first} in one look and {second} in another")
    return first


def _far(page: Any) -> str | None:
    """Return the warning where a number is far outside what was seen; None without numbers."""
    numbers = page.locator("#try [data-kind=number]")
    if not numbers.count():
        return None
    numbers.first.fill("1e9")
    return str(_answer(page)["outside"])


def _fill(control: Any, value: Any) -> None:
    if control.evaluate("field => field.tagName") != "SELECT":
        control.fill("" if value is None else str(value))
    elif value is None:
        control.select_option(label="missing")
    else:
        control.select_option(value=str(value).lower() if isinstance(value, bool) else str(value))


def _answer(page: Any) -> dict[str, Any]:
    """Press the button, and read what the page says."""
    page.click(".try-go")
    page.wait_for_timeout(500)  # longer than the form waits for a further change
    page.wait_for_selector("#try-answer:not(.stale)")
    if page.locator(".try-answer .error").count():
        raise RuntimeError(page.inner_text("#try-answer"))
    values = page.eval_on_selector_all(".try-numbers dd", "all => all.map((d) => d.dataset.value)")
    texts = page.eval_on_selector_all(".try-numbers dd", "all => all.map((d) => d.textContent)")
    outside = page.locator(".try-outside")
    return {
        "defer": page.inner_text(".try-verdict") == "Defer",
        "prediction": values[0],
        "risk": float(values[1]),
        "risk_text": texts[1],
        "outside": outside.inner_text() if outside.count() else "",
    }
