"""What held-out rows say, in words: the right sentence for each case, with its numbers."""

import re

import numpy as np
import polars as pl
import pytest

from condrisk.app.models import fit_table
from condrisk.app.report import report_from_arrays, report_from_manifest
from condrisk.assessment import calibration_test, deferral_savings


def rows(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    risk = rng.gamma(2.0, 0.5, n)
    return risk, risk * rng.exponential(size=n)


def said(loss, deferred, cost, **options):
    """Return kind and text of what is said of a decision, given a risk that leads to it."""
    risk = np.where(deferred, 2 * cost, cost / 2)
    sentence = report_from_arrays(loss, risk, price=cost, **options).verdict[0]
    return sentence.kind, sentence.text.replace("\u00a0", " ")


def calibration(loss, risk):
    return report_from_arrays(loss, risk, price=1.0).verdict[1]


def test_each_case_has_its_words():
    risk, loss = rows()
    few = np.arange(len(risk)) < 5
    cases = {
        "deferring by risk pays: with": (risk > 1.0, 1.0, "good"),
        "deferring everything is cheaper: by": (risk < 1.0, 0.5, "caution"),
        "the model alone is cheaper: by": (risk < 1.0, 1.7, "caution"),
        "Against the model alone these rows do not settle it": (few, 1.3, ""),
        "Against deferring everything these rows do not settle it": (~few, 0.7, ""),
        "deferring everything is as good": (np.arange(len(risk)) % 2 == 0, 1.0, ""),
        "the model alone is as good": (np.arange(len(risk)) % 2 == 0, 1.03, ""),
        "deferring everything is cheaper: the risk of every row": (risk > -1, 0.1, ""),
        "no row is worth deferring": (risk > 1e9, 9.0, ""),
    }
    for words, (deferred, cost, kind) in cases.items():
        found = said(loss, deferred, cost)
        assert words in found[1], words
        assert found[0] == kind, words
        assert found[1].startswith(f"At a cost of {cost:g}")


def test_numbers_are_those_of_the_rows_in_the_way_of_the_loss():
    risk, loss = rows()
    found = deferral_savings(loss, risk > 1.0, 1.0)
    text = said(loss, risk > 1.0, 1.0, loss_name="squared_error", unit="g")[1]
    assert "At a cost of 1 (about ± 1 g)" in text
    assert f"it saves {found.below_rival.estimate:.3g} a row" in text
    wrong = (risk / 10 > np.random.default_rng(1).random(len(risk))).astype(float)
    text = said(wrong, risk > 1.0, 0.1, loss_name="zero_one")[1]
    assert "At a cost of 10 % of an error" in text


@pytest.mark.parametrize(
    ("factor", "words", "kind"),
    [
        (1.35, "above the estimated risk", "caution"),
        (0.6, "below the estimated risk", "caution"),
        (1.0, "The risk agrees with the realised losses", "good"),
    ],
)
def test_the_level_of_the_risk_is_judged(factor, words, kind):
    risk, loss = rows(20_000)
    found = calibration_test(factor * loss, risk)
    sentence = calibration(factor * loss, risk)
    assert words in sentence.text
    assert sentence.kind == kind
    if kind == "caution":
        assert "refit the model" in sentence.text
        assert f"{abs(100 * float(f'{found.excess.estimate:.2g}')):.3g}\u00a0%" in sentence.text


def test_rows_that_the_model_was_perhaps_fitted_on_are_no_reason_to_refit_it():
    risk, loss = rows()
    text = calibration(0.4 * loss, risk).text
    assert "below the estimated risk" in text
    assert text.endswith(
        ": refit the model; or, if it was fitted on some of these rows, use others."
    )
    assert calibration(1.6 * loss, risk).text.endswith(": refit the model.")


def test_of_few_rows_without_an_error_nothing_is_refitted():
    # With one error in 40 rows to come, 60 have none one time in five.
    report = report_from_arrays(np.zeros(60), np.linspace(0.01, 0.04, 60), loss_name="zero_one")
    assert "The risk agrees with the realised losses" in report.verdict[1].text
    assert "pays" not in report.verdict[0].text


def test_a_risk_that_is_wrong_at_its_ends_is_told():
    risk, loss = rows(20_000)
    flat = 0.5 * risk + 0.5 * loss.mean() + 0.5 * (loss.mean() - risk.mean())
    assert "not at every level" in calibration(loss, flat).text


def test_of_one_row_nothing_is_said():
    assert report_from_arrays([1.0], [0.5]).verdict == ()


@pytest.mark.usefixtures("quick_fits")
@pytest.mark.parametrize(
    ("name", "unit"),
    [("body_mass_g", "g"), ("price [EUR]", "EUR"), ("weight (kg)", "kg"), ("class_a", "")],
)
def test_a_model_file_says_the_same_in_the_unit_of_its_target(name, unit):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 300)
    frame = pl.DataFrame({"x": x, name: x + np.exp(x) * rng.normal(size=300)})
    model = fit_table(frame, target=name, cost=1.0, predictor="linear")
    report = report_from_manifest(model.manifest)
    assert report.amounts.unit == unit
    ending = f"\u00a0{unit})" if unit else ")"
    assert report.verdict[0].text.startswith(f"At a cost of 1 (about ±\u00a01{ending}")
    assert len(report.verdict) == 2


def test_a_size_is_the_middle_of_its_limits_whichever_way_it_goes():
    """What costs more by so much has limits of how much more, not of how much less."""
    number = r"(−?[\d.,]+)"
    pattern = re.compile(
        rf"costs {number} a row (more|less)(?:, and the | \()"
        rf"95\u00a0% interval {number} to {number}"
    )
    seen = set()
    rng = np.random.default_rng(0)
    for _ in range(60):
        risk = rng.gamma(2.0, 1.0, 80)
        loss, said = rng.gamma(1.0, risk), rng.permutation(risk)  # a risk of no use
        report = report_from_arrays(loss, said, price=rng.choice([0.0, 2.0, 99.0]))
        for found in pattern.finditer(report.verdict[0].text):
            size, low, high = (
                float(text.replace("−", "-").replace(",", "")) for text in found.group(1, 3, 4)
            )
            assert (low + high) / 2 == pytest.approx(size, abs=0.02 * (high - low + size / 4))
            seen.add(found[2])
    assert seen == {"more", "less"}
