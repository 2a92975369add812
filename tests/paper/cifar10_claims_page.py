"""The page of claims about CIFAR-10, taken apart for tests."""

import re

from fake_cifar10_records import each

from condrisk.paper.cifar10._claims import claims_page
from condrisk.paper.cifar10._paper import PREDICTORS

BETTER = "Better probabilities give a better risk"
KINDS = "Calibration-based beats regression-based"
REPRESENTATIONS = "Representations beat regression from scratch"
STRENGTH = "Regression is better for a better predictor, and with a larger network"
TEMPERATURE = "Temperature scaling makes it worse, sixfold"
BEST = "EfficientNet's probabilities without scaling are the best"
FOLLOWS = "The loss of learning to defer follows the error of the risk"
BEATEN = "The paper's best figures, beaten?"
HYBRID = "Recalibrating the risk, which the paper does not try"
WORKS = "The regression-based method is also effective"
CHOICE = "The choice of ℓ and of L affects the estimation"
TITLES = [KINDS, WORKS, BETTER, REPRESENTATIONS, STRENGTH, TEMPERATURE, BEST, CHOICE, FOLLOWS]
TITLES += [BEATEN, HYBRID]


def sections(records):
    parts = re.split(r"^## (.+)$", claims_page(records), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def verdict(text, start):
    """Return verdict and counts of the only sentence that begins so."""
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    found = re.search(r"\*\*([a-z ]+)\*\*(?:: of (\d+) comparisons? (\d+) for it, (\d+) ag)?", line)
    return found.group(1), tuple(int(n) for n in found.groups()[1:] if n)


def row(text, *labels):
    """Return the other cells of the only row that begins with these."""
    start = f"| {' | '.join(labels)} | "
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return [cell.strip() for cell in line[len(start) :].removesuffix("|").split("|")]


def change(records, method, shift, *, predictors=PREDICTORS, cost=None, quantity="risk_l2"):
    """Shift a figure of a method in every seed, a little more in each."""
    for predictor in predictors:
        for record in each(records, set=predictor, method=method):
            place = record["costs"][cost] if cost else record
            place["loss" if cost else quantity] += shift * (1 + 0.01 * record["fold"])
    return records
