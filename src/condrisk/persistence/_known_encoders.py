"""Encoders of categories in a file: their sparse output is built from numbers that they keep."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.persistence import _kinds as k
from condrisk.persistence._closed import Known, Part, require
from condrisk.persistence._kinds import Node, Scope

_ENCODERS = "sklearn.preprocessing._encoders"
# More columns than this are made of a row by no model.
MOST_COLUMNS = 10_000

_categories = k.labels()
_ENCODER = {
    "categories_": k.items(_categories, "features"),
    "_infrequent_enabled": k.flag,
    "_infrequent_indices": k.items(k.nothing | k.ints(None, low=0), "features"),
    "_default_to_infrequent_mappings": k.items(k.nothing | k.ints(None, low=0), "features"),
}
_dropped = k.nothing | k.objects(k.nothing | k.whole(0, MOST_COLUMNS), "features")
_ONE_HOT = {
    **_ENCODER,
    "drop_idx_": _dropped,
    "_drop_idx_after_grouping": _dropped,
    "_n_features_outs": k.items(k.whole(0, MOST_COLUMNS), "features"),
}
_ORDINAL = {
    **_ENCODER,
    "_missing_indices": k.mapping(k.whole(0, MOST_COLUMNS), keys=("int",)),
    "unknown_value": k.nothing | k.any_real,
    "encoded_missing_value": k.any_real,
}


def _check_one_hot(encoder: Part) -> None:
    """Refuse numbers of columns that are not those of the categories."""
    if "categories_" not in encoder.attributes:
        return
    needed = {"n_features_in_", "_infrequent_enabled", "_n_features_outs", "drop_idx_"}
    needed |= {"_drop_idx_after_grouping"}
    require(needed <= set(encoder.attributes), "an encoder that is not complete")
    counts = _check_categories(encoder)
    if not encoder.is_none("_drop_idx_after_grouping"):
        for column, node in enumerate(encoder.items("_drop_idx_after_grouping")):
            dropped = k.scalar(node, encoder.scope)
            require(dropped is None or dropped < counts[column], "an encoder without a category")
            counts[column] -= dropped is not None
    found = [k.scalar(node, encoder.scope) for node in encoder.items("_n_features_outs")]
    require(found == counts, "an encoder of other columns than its categories")
    require(sum(counts) <= MOST_COLUMNS, f"an encoder of {sum(counts):,} columns")


def _check_categories(encoder: Part) -> list[int]:
    """Return how many categories each column has, those taken together as one."""
    known = encoder.items("categories_")
    for node in known:
        require(_is_sorted(node, encoder), "an encoder whose categories are not in order")
    counts = [_count(node, encoder.scope) for node in known]
    if not encoder.value("_infrequent_enabled"):
        return counts
    require(
        {"_infrequent_indices", "_default_to_infrequent_mappings"} <= set(encoder.attributes),
        "an encoder that is not complete",
    )
    rare = encoder.items("_infrequent_indices")
    mappings = encoder.items("_default_to_infrequent_mappings")
    for column, (of_rare, mapping) in enumerate(zip(rare, mappings, strict=True)):
        is_plain = [node["__loader__"] == "JsonNode" for node in (of_rare, mapping)]
        require(is_plain[0] == is_plain[1], "an encoder with half a group of categories")
        if not is_plain[0]:
            counts[column] = _grouped(
                counts[column], encoder.array_of(of_rare), encoder.array_of(mapping)
            )
    return counts


def _grouped(n: int, rare: NDArray[Any], mapping: NDArray[Any]) -> int:
    """Return how many categories are left; refuse groups that are not of these categories."""
    left = n - len(rare) + 1
    fits = len(rare) and len(mapping) == n and rare.max() < n and mapping.max() == left - 1
    require(bool(fits), "an encoder with groups of other categories")
    return left


def _count(node: Node, scope: Scope) -> int:
    if node["type"] == "json":
        return len(node["content"])
    return int(scope.file.header(node["file"])[0][0])


def _is_sorted(node: Node, encoder: Part) -> bool:
    """Tell whether numbers are in order, a missing one last: they are looked up by halving."""
    if node["type"] == "json":
        return True
    values = encoder.array_of(node)
    if values.dtype.kind not in "iuf":
        return True
    known = values[:-1] if len(values) and np.isnan(values[-1]) else values
    return bool((np.diff(known.astype(np.float64)) > 0).all() and not np.isnan(known).any())


def _check_ordinal(encoder: Part) -> None:
    if "categories_" in encoder.attributes:
        require("_infrequent_enabled" in encoder.attributes, "an encoder that is not complete")
        _check_categories(encoder)


# -- polynomials -----------------------------------------------------------------------------------

_MOST_DEGREE = 20
_POLYNOMIAL = {
    "_min_degree": k.whole(0, _MOST_DEGREE),
    "_max_degree": k.whole(0, _MOST_DEGREE),
    "n_output_features_": k.whole(0, MOST_COLUMNS),
    "_n_out_full": k.whole(0, MOST_COLUMNS),
    "interaction_only": k.flag,
    "include_bias": k.flag,
    "order": k.choice("C", "F"),
}


def _check_polynomial(features: Part) -> None:
    """Refuse numbers of columns that are not those of the degrees."""
    if "_n_out_full" not in features.attributes:
        return
    require({*_POLYNOMIAL, "n_features_in_"} <= set(features.attributes), "half a polynomial")
    low, high = features.value("_min_degree"), features.value("_max_degree")
    for name, least in (("n_output_features_", low), ("_n_out_full", 0)):
        counted = _combinations(features, least, high)
        require(features.value(name) == counted, "a polynomial of other columns than its degrees")


def _combinations(features: Part, low: int, high: int) -> int:
    n, bias = features.sizes["features"], features.value("include_bias")
    degrees = range(max(1, low), high + 1)
    if features.value("interaction_only"):
        return sum(math.comb(n, degree) for degree in degrees) + bias
    return sum(math.comb(n + degree - 1, degree) for degree in degrees) + bias


KNOWN: dict[str, Known] = {
    f"{_ENCODERS}.OneHotEncoder": Known(_ONE_HOT, _check_one_hot),
    f"{_ENCODERS}.OrdinalEncoder": Known(_ORDINAL, _check_ordinal),
    "sklearn.preprocessing._polynomial.PolynomialFeatures": Known(_POLYNOMIAL, _check_polynomial),
}
