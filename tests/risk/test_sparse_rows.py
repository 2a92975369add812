"""Sparse rows: taken where every part takes them, which the tags of scikit-learn tell."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression, Ridge
from sklearn.utils import get_tags

from condrisk import AutoRisk, Deferral, HybridRisk, PlugInRisk, RegressionRisk
from condrisk.datasets import make_gaussian_mixture

WORLD = make_gaussian_mixture(120, random_state=0)
X, K = WORLD.X, (WORLD.y > 0).astype(int)
TARGETS = {"classes": K, "numbers": X[:, 0] + np.random.default_rng(0).normal(size=120)}
CLASSIFIER, REGRESSOR = LogisticRegression(), LinearRegression()


@pytest.mark.parametrize(
    ("risk", "target", "taken"),
    [
        (RegressionRisk(CLASSIFIER, regressor=Ridge()), "classes", True),
        (RegressionRisk(REGRESSOR, regressor=Ridge()), "numbers", True),
        (PlugInRisk(CLASSIFIER), "classes", True),
        (HybridRisk(CLASSIFIER), "classes", True),
        (HybridRisk(CLASSIFIER, regressor=Ridge(), features="plug-in+x"), "classes", True),
        (Deferral(PlugInRisk(CLASSIFIER), cost=0.2), "classes", True),
        (RegressionRisk(REGRESSOR), "numbers", True),
        (AutoRisk(CLASSIFIER), "classes", True),
        (PlugInRisk(REGRESSOR, distribution=BayesianRidge()), "numbers", False),
    ],
)
def test_sparse_rows_are_taken_where_every_part_takes_them(risk, target, taken):
    y = TARGETS[target]
    inner = risk.risk if isinstance(risk, Deferral) else risk
    inner.set_params(random_state=0)
    assert get_tags(risk).input_tags.sparse == taken
    if not taken:
        with pytest.raises(TypeError, match="Sparse data was passed"):
            risk.fit(sparse.csr_array(X), y)
        return
    found = risk.fit(sparse.csr_array(X), y).predict_risk(sparse.csr_array(X))
    assert_allclose(found, risk.fit(X, y).predict_risk(X), rtol=0.02, atol=0.02)
