"""What a risk estimator tells scikit-learn of itself: mostly what its predictor and parts tell."""

from __future__ import annotations

from typing import Any

from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from condrisk.risk._external import has_tags


def tags_of_risk(risk: Any, tags: Any) -> Any:
    """Return the tags of a risk estimator, given those that its bases have."""
    tags.target_tags.required = True
    own = [] if risk._is_external() else [risk.predictor]
    parts = [_tags_of(part) for part in (*own, *risk._parts().values())]
    tags.input_tags.sparse = all(part.input_tags.sparse for part in parts)
    tags.input_tags.allow_nan = all(part.input_tags.allow_nan for part in parts)
    if not own:
        stand_in = DummyClassifier if risk._task() == "classification" else DummyRegressor
        tags.estimator_type = get_tags(stand_in()).estimator_type
        return tags
    inner = parts[0]
    tags.estimator_type = inner.estimator_type
    tags.classifier_tags = inner.classifier_tags
    tags.regressor_tags = inner.regressor_tags
    if not risk._takes_several():
        tags.target_tags.multi_output = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
    if tags.regressor_tags is not None:
        tags.regressor_tags.poor_score = True  # score is minus an error, not an R²
    tags.target_tags.multi_output = inner.target_tags.multi_output
    tags.target_tags.one_d_labels = inner.target_tags.one_d_labels
    tags.target_tags.positive_only = inner.target_tags.positive_only
    tags.input_tags.positive_only = inner.input_tags.positive_only
    return tags


def _tags_of(part: Any) -> Any:
    """Return the tags of a part, the usual ones where another package gives it none."""
    tags = get_tags(part if has_tags(part) else DummyRegressor())
    if isinstance(part, Pipeline) and hasattr(part.steps[0][1], "__sklearn_tags__"):
        # A Pipeline itself does not say so where its first step fills gaps.
        tags.input_tags.allow_nan |= get_tags(part.steps[0][1]).input_tags.allow_nan
    return tags
