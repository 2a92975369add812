"""The printed figures of CIFAR-10, typed off the paper by hand a second time."""

import pytest

from condrisk.paper._summary import PaperValue
from condrisk.paper.cifar10._paper import (
    COSTS,
    ERROR_TABLE,
    PREDICTORS,
    paper_methods,
    paper_value,
)
from condrisk.paper.cifar10._results import KNOWN_METHODS


def test_table_1():
    # p of the CNN, of EfficientNet, the same scaled; g: CNN, representation, EfficientNet.
    methods = ["p CNN", "p EffNet", "p EffNet, scaled"]
    methods += ["g CNN", "g of own representation", "g EffNet"]
    printed = {
        "risk_l1": [0.96, 0.28, 1.71, 2.36, 1.09, 2.77],
        "risk_l2": [4.06, 0.97, 5.13, 10.86, 4.07, 15.10],
    }
    for quantity, row in printed.items():
        found = [paper_value("table1", quantity, "CNN", method) for method in methods]
        assert found == [PaperValue(mean, None, 0.005) for mean in row]
    assert paper_value("table1", "predictor_loss", "CNN", "p CNN").mean == 1.30


def test_table_2():
    methods = ["p ResNet", "p EffNet", "p EffNet, scaled"]
    methods += ["g ResNet", "g of own representation", "g EffNet"]
    printed = {
        "risk_l1": [0.47, 0.36, 1.98, 0.63, 0.50, 0.39],
        "risk_l2": [1.92, 1.40, 5.46, 1.88, 1.83, 1.89],
    }
    for quantity, row in printed.items():
        found = [paper_value("table2", quantity, "ResNet", method) for method in methods]
        assert found == [PaperValue(mean, None, 0.005) for mean in row]
    assert paper_value("table2", "predictor_loss", "ResNet", "").mean == 0.57


@pytest.mark.parametrize(
    ("predictor", "method", "error", "losses"),
    [
        ("CNN", "p CNN", 0.76, (0.20, 0.41, 0.65, 0.75)),
        ("CNN", "p ResNet", 0.45, (0.15, 0.32, 0.51, 0.70)),
        ("CNN", "p EffNet", 0.47, (0.16, 0.32, 0.53, 0.74)),
        ("CNN", "g of EffNet representation", 1.49, (0.28, 0.47, 0.67, 0.82)),
        ("ResNet", "p CNN", 1.48, (0.17, 0.36, 0.60, 0.88)),
        ("ResNet", "p ResNet", 0.48, (0.22, 0.38, 0.53, 0.57)),
        ("ResNet", "p EffNet", 0.62, (0.13, 0.26, 0.42, 0.61)),
        ("ResNet", "g of EffNet representation", 1.03, (0.25, 0.40, 0.56, 0.68)),
    ],
)
def test_table_6(predictor, method, error, losses):
    assert paper_value("table6", "risk_l1", predictor, method) == (error, None, 0.005)
    found = [paper_value("table6", "loss", predictor, method, cost) for cost in COSTS]
    assert found == [(loss, None, 0.005) for loss in losses]


def test_training_accuracies():
    methods = paper_methods("networks", "accuracy", "networks")
    found = [paper_value("networks", "accuracy", "networks", method) for method in methods]
    assert methods == ("predictor CNN", "predictor ResNet", "probability EffNet")
    assert [value.mean for value in found] == [0.7768, 0.8544, 0.9239]
    assert {value.half_unit for value in found} == {0.00005}


def test_the_tables_have_nothing_else():
    for predictor in PREDICTORS:
        assert len(paper_methods(ERROR_TABLE[predictor], "risk_l1", predictor)) == 6
        assert len(paper_methods(ERROR_TABLE[predictor], "risk_l2", predictor)) == 6
        assert len(paper_methods("table6", "loss", predictor)) == 4
    assert paper_methods("table1", "risk_l1", "ResNet") == ()
    for table, quantity in (("table1", "risk_l1"), ("table2", "risk_l2"), ("table6", "loss")):
        for predictor in PREDICTORS:
            assert set(paper_methods(table, quantity, predictor)) <= set(KNOWN_METHODS)


def test_what_was_not_printed():
    assert paper_value("table1", "risk_l1", "CNN", "Hybrid") is None
    assert paper_value("table1", "aurc", "CNN", "p CNN") is None
    assert paper_value("table1", "risk_l1", "ResNet", "p EffNet") is None
    assert paper_value("table6", "loss", "CNN", "p CNN", 0.3) is None
    assert paper_value("table6", "loss", "CNN", "p CNN") is None


def test_cost_may_be_a_number_or_a_word():
    found = [paper_value("table6", "loss", "CNN", "p CNN", cost) for cost in (1, 1.0, "1", "1.0")]
    assert {value.mean for value in found} == {0.65}
