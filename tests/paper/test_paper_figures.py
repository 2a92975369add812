"""The published figures: typed off the paper by hand, and consistent with each other."""

import pytest

from condrisk.paper.rwr._paper import (
    BENCHMARKS,
    COSTS,
    MODELS,
    PAIRS,
    SETS,
    PaperValue,
    paper_value,
    source_value,
)


@pytest.mark.parametrize(
    ("quantity", "set_name", "method", "cost", "mean"),
    [
        ("predictor_loss", "concrete", "LR", None, 112.4),
        ("predictor_loss", "concrete", "LR+RF", None, 112.4),
        ("predictor_loss", "parkinsons", "RF", None, 0.35),
        ("predictor_loss", "solar", "MLP2", None, 0.70),
        ("risk_l1", "concrete", "MLP+LR", None, 80.6),
        ("risk_l1", "housing", "MLP+MLP", None, 20.57),
        ("risk_l1", "solar", "MLP+MLP2", None, 1.0),
        ("risk_l1", "parkinsons", "RF+RF", None, 0.45),
        ("loss", "concrete", "LR+LR", 0.2, 1.31),
        ("loss", "airfoil", "SelNet", 0.5, 0.49),
        ("loss", "housing", "RF+RF", 2, 2.07),
        ("loss", "housing", "RF+MLP", 2, 2.31),
        ("loss", "forest", "NN+kNNRej", 2, 2.13),
        ("loss", "forest", "MLP+MLP2", 2, 1.85),
        ("loss", "parkinsons", "RF+RF", 0.2, 0.12),
        ("loss", "energy", "MLP2+RF", 1, 0.71),  # Tables 4 and 7
        ("loss", "solar", "SelNet", 0.2, 0.18),  # Tables 5 and 7
    ],
)
def test_figures_are_those_of_the_paper(quantity, set_name, method, cost, mean):
    printed = source_value("printed", quantity, set_name, method, cost)
    assert printed == PaperValue(mean, None, 0.005)
    assert paper_value(quantity, set_name, method, cost).mean == mean


@pytest.mark.parametrize(
    ("quantity", "set_name", "method", "cost", "expected"),
    [
        ("risk_l1", "energy", "MLP+RF", None, (2.21, 0.55, 0.005)),
        ("risk_rmse", "energy", "MLP+RF", None, (4.64, 1.19, 0.005)),
        ("risk_bias", "concrete", "LR+MLP", None, (-37.608, 11.387, 0.0005)),
        ("risk_bias", "wine", "MLP+LR", None, (-0.01, 0.043, 0.0005)),  # a zero left out
        ("risk_bias", "energy", "MLP+RF", None, (0.01, 0.66, 0.005)),
        ("rate", "energy", "MLP+RF", 0.2, (0.94, 0.03, 0.005)),
        ("rate", "parkinsons", "RF+LR", 2.0, (0.0, 0.0, 0.005)),
        ("loss", "concrete", "RF+LR", 2.0, (3.87, 2.59, 0.005)),
    ],
)
def test_authors_files_come_first(quantity, set_name, method, cost, expected):
    assert paper_value(quantity, set_name, method, cost) == expected


def test_cost_may_be_a_number_or_a_word():
    assert (
        paper_value("loss", "wine", "RF+RF", 1)
        == paper_value("loss", "wine", "RF+RF", 1.0)
        == paper_value("loss", "wine", "RF+RF", "1.0")
    )


@pytest.mark.parametrize("set_name", SETS)
def test_nothing_is_missing(set_name):
    for model in MODELS:
        assert paper_value("predictor_loss", set_name, model).mean > 0
    for pair in PAIRS:
        for quantity in ("risk_l1", "risk_rmse", "risk_bias"):
            assert paper_value(quantity, set_name, pair).std is not None
        for cost in COSTS:
            assert 0 <= paper_value("rate", set_name, pair, cost).mean <= 1
    for method in (*PAIRS, *BENCHMARKS):
        for cost in COSTS:
            assert paper_value("loss", set_name, method, cost).mean > 0


@pytest.mark.parametrize("set_name", SETS)
def test_printed_tables_agree_with_the_files(set_name):
    for pair in PAIRS:
        cells = [("risk_l1", None), *(("loss", cost) for cost in COSTS)]
        for quantity, cost in cells:
            printed = source_value("printed", quantity, set_name, pair, cost)
            exact = source_value("authors", quantity, set_name, pair, cost)
            assert printed.mean == pytest.approx(exact.mean, abs=printed.half_unit)


@pytest.mark.parametrize(
    ("quantity", "set_name", "method", "cost"),
    [
        ("loss", "wine-quality", "RF+RF", 1),
        ("loss", "wine", "NN+kernel", 1),
        ("loss", "wine", "RF+RF", 0.3),
        ("loss", "wine", "RF+RF", None),
        ("rate", "wine", "SelNet", 1),
        ("aurc", "wine", "RF+RF", None),
        ("predictor_loss", "wine", "NN+kNNRej", None),
    ],
)
def test_what_was_not_published_is_none(quantity, set_name, method, cost):
    assert paper_value(quantity, set_name, method, cost) is None
