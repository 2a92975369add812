"""Records as a run would make them, drawn around the published figures."""

import numpy as np

from condrisk.paper.rwr._paper import COSTS, PAIRS, SETS, paper_value

ALL_METHODS = (*PAIRS, "SelNet", "NN+kNNRej", "NN+kernel")


def fake_records(seed=0, *, sets=SETS, methods=ALL_METHODS, n_folds=10, noise=0.1):
    """Return one record for each set, fold and method; `noise` is relative, by fold.

    A method or set that the paper does not have takes the figures of one that it has.
    """
    rng = np.random.default_rng(seed)
    return [
        fake_record(rng, name, fold, method, noise)
        for name in sets
        for fold in range(n_folds)
        for method in methods
    ]


def fake_record(rng, name, fold, method, noise=0.1):
    def draw(quantity, method, cost=None):
        figure = paper_value(quantity, published, method, cost)
        return figure.mean * float(np.exp(noise * rng.standard_normal()))

    published = name.partition("-")[0]
    pair = method if method in PAIRS else "MLP+RF"
    benchmark = method if paper_value("loss", published, method, 1) else "NN+kNNRej"
    has_risk = method != "SelNet"
    squared = draw("risk_rmse", pair) ** 2
    costs = {}
    for cost in COSTS:
        loss = draw("loss", benchmark, cost)
        rate = min(1.0, draw("rate", pair, cost))
        costs[cost] = {"loss": loss, "rate": rate, "oracle": 0.7 * min(loss, float(cost))}
    return {
        "set": name,
        "fold": fold,
        "method": method,
        "n_train": 691,
        "n_test": 77,
        "predictor_loss": draw("predictor_loss", pair),
        "risk_l1": draw("risk_l1", pair) if has_risk else None,
        "risk_l2": squared if has_risk else None,
        "risk_bias": draw("risk_bias", pair) if has_risk else None,
        "loss_variance": 1.5 * squared,
        "aurc": 0.5 * draw("predictor_loss", pair) if has_risk else None,
        "costs": costs,
        "fit_s": 0.4,
        "predict_s": 0.01,
    }


def with_rows(records, seed=0, n_rows=77):
    """Give the records of MLP+RF on energy the rows that the figure shows."""
    rng = np.random.default_rng(seed)
    for record in records:
        if (record["set"], record["method"]) == ("energy", "MLP+RF"):
            y = rng.uniform(-15, 20, n_rows)
            risk = rng.exponential(2.0, n_rows)
            prediction = y + np.sqrt(risk) * rng.standard_normal(n_rows)
            rows = {"y": y, "prediction": prediction, "risk": risk}
            record["rows"] = {key: value.tolist() for key, value in rows.items()}
    return records
