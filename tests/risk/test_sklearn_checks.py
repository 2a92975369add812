"""scikit-learn's own checks over every estimator."""

import pytest
from estimators import CHECKED, expected_failed_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

# The checks feed a handful of rows of two or three classes into three folds, so that classes are
# scarce, and weights into parts that may warn about them: none of that is what they test.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@parametrize_with_checks(list(CHECKED.values()), expected_failed_checks=expected_failed_checks)
def test_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)
