"""Records of the study on CIFAR-10 as a run would make them, around figures of a real seed."""

import numpy as np

from condrisk.paper.cifar10._paper import COSTS, PREDICTORS

# accuracy, log loss, seconds
NETWORKS = {
    "predictor CNN": (0.775, 0.66, 9.0),
    "predictor ResNet": (0.86, 0.42, 14.0),
    "probability CNN": (0.75, 0.72, 6.0),
    "probability ResNet": (0.84, 0.47, 10.0),
    "probability EffNet": (0.95, 0.15, 40.0),
    "probability ResNet-9": (0.92, 0.25, 25.0),
}
PREDICTOR_LOSS = {"CNN": 0.575, "ResNet": 0.41}
# Of the CNN: absolute and squared error, bias over the mean loss, AURC, L2D loss at the costs.
METHODS = {
    "p CNN": (0.609, 1.179, 0.446, 0.197, (0.147, 0.321, 0.518, 0.643)),
    "p CNN, scaled": (0.615, 1.160, 0.430, 0.197, (0.147, 0.320, 0.517, 0.642)),
    "p ResNet": (0.400, 0.700, 0.150, 0.150, (0.130, 0.270, 0.430, 0.570)),
    "p ResNet, scaled": (0.420, 0.695, 0.170, 0.150, (0.130, 0.269, 0.429, 0.569)),
    "p EffNet": (0.116, 0.244, 0.002, 0.100, (0.114, 0.230, 0.361, 0.492)),
    "p EffNet, scaled": (0.139, 0.242, 0.050, 0.100, (0.114, 0.228, 0.359, 0.493)),
    "p ResNet-9": (0.230, 0.400, 0.040, 0.120, (0.122, 0.250, 0.400, 0.530)),
    "p ResNet-9, scaled": (0.250, 0.398, 0.080, 0.120, (0.122, 0.249, 0.399, 0.531)),
    "g CNN": (0.645, 1.048, -0.030, 0.360, (0.196, 0.431, 0.575, 0.575)),
    "g ResNet": (0.600, 0.980, 0.010, 0.300, (0.190, 0.410, 0.560, 0.575)),
    "g EffNet": (0.610, 0.970, 0.020, 0.290, (0.188, 0.400, 0.555, 0.574)),
    "g of own representation": (0.609, 0.947, 0.050, 0.245, (0.173, 0.364, 0.535, 0.576)),
    "g of EffNet representation": (0.450, 0.800, 0.010, 0.180, (0.150, 0.320, 0.480, 0.560)),
    "Hybrid": (0.140, 0.2405, -0.015, 0.0995, (0.1135, 0.227, 0.356, 0.491)),
    "constant": (0.750, 1.100, 0.000, 0.575, (0.200, 0.500, 0.575, 0.575)),
    "own entropy": (0.620, 1.010, -0.080, 0.230, (0.165, 0.350, 0.520, 0.574)),
}
ORACLE = (0.08, 0.16, 0.26, 0.38)


def fake_records(seed=0, *, seeds=range(5), predictors=PREDICTORS, methods=METHODS, noise=0.01):
    """Return one record for each set, seed and method.

    `noise` is relative; three quarters of its variance are a seed's own, shared by its methods,
    as the test rows are.
    """
    rng = np.random.default_rng(seed)
    records = []
    for fold in seeds:
        for name, figures in NETWORKS.items():
            factor = np.exp(noise * rng.standard_normal(3))
            records.append(fake_network(name, fold, np.multiply(figures, factor)))
        for predictor in predictors:
            shared = np.sqrt(0.75) * rng.standard_normal()
            for method in methods:
                own = np.sqrt(0.25) * rng.standard_normal(8)
                factor = np.exp(noise * (shared + own))
                records.append(fake_record(predictor, fold, method, factor))
    return records


def fake_network(method, fold, figures):
    accuracy, log_loss, seconds = map(float, figures)
    return {
        "set": "networks",
        "fold": fold,
        "method": method,
        "n_train": 30000,
        "accuracy": accuracy,
        "log_loss": log_loss,
        "n_test": 6000,
        "seconds": {"fit": seconds},
    }


def fake_record(predictor, fold, method, factor):
    l1, l2, bias, aurc, losses = METHODS[method]
    loss = PREDICTOR_LOSS[predictor]
    scale = loss / PREDICTOR_LOSS["CNN"]
    costs = {
        cost: {
            "loss": float(losses[k] * scale * factor[4 + k]),
            "rate": 0.5 / (1 + k),
            "oracle": ORACLE[k] * scale,
        }
        for k, cost in enumerate(COSTS)
    }
    return {
        "set": predictor,
        "fold": fold,
        "method": method,
        "n_train": 4000,
        "n_test": 6000,
        "predictor_loss": loss * (1 + 0.01 * fold),
        "loss_variance": 1.1 * scale,
        "risk_l1": float(l1 * scale * factor[0]),
        "risk_l2": float(l2 * scale * factor[1]),
        "risk_bias": float(bias * loss * factor[2]),
        "aurc": float(aurc * scale * factor[3]),
        "costs": costs,
        "seconds": {"fit": 1.0, "predict": 0.1},
    }


def each(records, **wanted):
    """Return the records with these fields."""
    return [r for r in records if all(r[key] == value for key, value in wanted.items())]
