"""What the risk is made of, on the page: means of the parts, of all rows and of the riskiest."""

import re

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from condrisk import PlugInRisk, RegressionRisk
from condrisk.app.report import build_report, render, report_from_arrays
from condrisk.datasets import make_heteroscedastic
from condrisk.learners import DistributionRegressor

FLOOR = np.arange(1.0, 21.0)
GAP = np.where(np.arange(20) >= 18, 40.0, 0.0)
CORRECTION = np.full(20, -0.5)
RISK = FLOOR + GAP + CORRECTION


def text_of(page):
    section = re.search(r"<section[^>]*made-of-title.*?</section>", page, re.DOTALL)
    return None if section is None else " ".join(re.sub(r"<[^>]*>", " ", section[0]).split())


def test_parts_are_averaged_over_all_rows_and_over_the_riskiest_tenth():
    report = report_from_arrays(RISK, RISK, parts=(FLOOR, GAP, CORRECTION))
    everything, riskiest = report.made_of
    assert everything == (20, 14.0, 10.5, 4.0, -0.5)
    assert riskiest == (2, 59.0, 19.5, 40.0, -0.5)
    shown = text_of(render(report))
    assert "all 20 14 10.5 (72.4 %) 4 (27.6 %) −0.5" in shown
    assert "the riskiest 2 59 19.5 (32.8 %) 40 (67.2 %) −0.5" in shown
    assert "if it is right" in shown
    assert not re.search("aleatoric|epistemic", shown)


def test_without_parts_there_is_no_such_section():
    assert text_of(render(report_from_arrays(RISK, RISK))) is None


def test_a_risk_of_zero_has_shares_of_nothing():
    zero = np.zeros(5)
    assert "all 5 0 0 0 0" in text_of(render(report_from_arrays(zero, zero, parts=[zero] * 3)))


@pytest.mark.parametrize("parts", [[FLOOR, GAP], [FLOOR, GAP, CORRECTION[1:]]])
def test_parts_of_another_shape_are_refused(parts):
    with pytest.raises(ValueError, match="parts must be floor, gap and correction"):
        report_from_arrays(RISK, RISK, parts=parts)


def test_models_that_can_say_so_are_asked():
    world = make_heteroscedastic(120, random_state=0)
    models = {
        True: PlugInRisk(Ridge(), distribution=DistributionRegressor(Ridge(), Ridge()), cv=2),
        False: RegressionRisk(Ridge(), regressor=Ridge(), cv=2),
    }
    for has_parts, risk in models.items():
        report = build_report(risk.fit(world.X, world.y), world.X, world.y, price=1.0)
        assert bool(report.made_of) is has_parts
    risk = models[True]
    floor, gap, _ = risk.decompose_risk(world.X)
    report = build_report(risk, world.X, world.y, price=1.0)
    assert report.made_of[0][2:4] == pytest.approx((floor.mean(), gap.mean()))
