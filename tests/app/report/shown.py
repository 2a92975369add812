"""What the tests in a browser look at: rows, pages of them, and the numbers that are shown."""

import numpy as np
import polars as pl
import pytest

from condrisk.app import _numbers
from condrisk.app.monitor import Reference
from condrisk.app.report import render, report_from_arrays
from condrisk.metrics import cost_curve, deferral_loss, deferral_rate

HOSTILE = "</script><script>window.hacked = 1</script>"
START = 1.5


def arrays(n=800, seed=0):
    rng = np.random.default_rng(seed)
    risk = np.round(rng.gamma(1.0, 2.0, n) + 0.01, 3)  # with ties
    return rng.gamma(0.7, risk / 0.7), risk


LOSS, RISK = arrays()


def frame(n=800):
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "city": rng.choice(["Rome", "Oslo", HOSTILE], n),
            "income": [None if k % 9 == 0 else float(k) for k in range(n)],
            "\u202e<b>odd</b>": RISK[:n],
        }
    )


def rows_page():
    return render(
        report_from_arrays(
            LOSS,
            RISK,
            frame=frame(),
            risk_of=lambda rows: rows["\u202e<b>odd</b>"].to_numpy(),
            prediction=LOSS.tolist(),
            target=[HOSTILE] * len(LOSS),
            title=f"Risk of {HOSTILE}",
            price=START,
            loss_name="squared_error",
            cautions=["A caution."],
        )
    )


def figures(page):
    """Return value and text of every figure that is shown; shown twice, they are the same."""
    found = page.evaluate(
        """() => [...document.querySelectorAll("[data-figure]")].map((place) =>
            [place.dataset.figure, place.dataset.value, place.textContent])"""
    )
    values = {(name, value, text) for name, value, text in found}
    assert len({name for name, _, _ in values}) == len(values)
    return {name: (float(value or "nan"), text) for name, value, text in values}


def figure(page, name):
    return figures(page)[name][0]


def check_numbers(page, price, loss=LOSS, risk=RISK):
    shown = figures(page)
    values = {name: value for name, (value, _) in shown.items()}
    curve = cost_curve(loss, risk, costs=[price])
    assert values["rate"] == pytest.approx(deferral_rate(risk, price), abs=1e-12)
    assert values["loss"] == pytest.approx(deferral_loss(loss, risk, price), rel=1e-9)
    assert values["always"] == price
    assert values["never"] == pytest.approx(loss.mean(), rel=1e-9)
    assert values["oracle"] == pytest.approx(curve.oracle[0], rel=1e-9)
    assert values["accepted"] == np.count_nonzero(risk <= price)
    assert values["asked"] == np.count_nonzero(risk > price)
    assert shown["loss"][1] == _numbers.number(deferral_loss(loss, risk, price))
    assert shown["rate"][1] == _numbers.percent(deferral_rate(risk, price))


def price_of(page):
    return float(page.locator("#price").input_value())


def profile(risk, loss):
    """Return groups of rows as a model file keeps them."""
    found = Reference.from_rows(risk, loss)
    parts = (found.n, found.risk, found.low, found.high, found.loss, found.square)
    return np.column_stack(parts).tolist()
