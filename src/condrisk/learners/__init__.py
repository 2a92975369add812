"""Models made for noisy losses, predictors that keep held-out predictions, and their encoder."""

from condrisk.learners._decision import BayesDecision
from condrisk.learners._distribution import DistributionRegressor
from condrisk.learners._encoder import TableEncoder
from condrisk.learners._loss_regressor import LossRegressor
from condrisk.learners._stack import StackedClassifier, StackedRegressor

__all__ = [
    "BayesDecision",
    "DistributionRegressor",
    "LossRegressor",
    "StackedClassifier",
    "StackedRegressor",
    "TableEncoder",
]
