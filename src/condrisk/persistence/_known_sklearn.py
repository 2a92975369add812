"""What objects of scikit-learn may have in a file, besides their parameters.

Left out are the classes that hand arrays to compiled code that does not check them: support
vectors, neighbours' trees, gradient boosting's stages. A caller may trust them by
``trusted=["sklearn"]``.
"""

from __future__ import annotations

import numpy as np

from condrisk.persistence import _kinds as k
from condrisk.persistence._closed import Known, Part, require
from condrisk.persistence._kinds import Kind, Node, Scope

CHECK_ARRAY = "sklearn.utils.validation.check_array"
NATIVE_LOSSES = (
    "CyAbsoluteError",
    "CyHalfBinomialLoss",
    "CyHalfGammaLoss",
    "CyHalfMultinomialLoss",
    "CyHalfPoissonLoss",
    "CyHalfSquaredError",
    "CyPinballLoss",
)
_vector = k.floats("features")
_count = k.whole() | k.real(0) | k.ints("features") | k.floats("features")


# -- linear models -----------------------------------------------------------------------------


# A log-linear model of no loss at all has an intercept of minus infinity.
_below_infinity = k.array(("<f8", "<f4"), "outputs", fits=lambda b: bool((b < np.inf).all()))
_LINEAR = {
    "coef_": k.floats("features", finite=True) | k.floats("outputs", "features", finite=True),
    "intercept_": k.real(high=1.7e308) | _below_infinity,
    "n_iter_": k.nothing | k.whole() | k.items(k.whole()) | k.ints(None) | k.ints(None, None, None),
    "dual_gap_": k.any_real | k.floats(None),
    "alpha_": k.any_real | k.floats(None),
    "solver_": k.text,
    "classes_": k.labels("classes"),
}
_PATHS = {
    "mse_path_": k.floats(None, None) | k.floats(None, None, None),
    "alphas_": k.floats(None) | k.floats(None, None),
    "l1_ratio_": k.any_real,
}
_BAYES = {
    "X_offset_": _vector,
    "X_scale_": _vector,
    "scores_": k.items(k.any_real) | k.floats(None),
    "lambda_": k.any_real | _vector,
    "sigma_": k.floats(None, None),
}
_ratios = k.objects(k.nothing | k.any_real) | k.floats(None)
_by_label = k.mapping(
    k.floats(None, None) | k.floats(None, None, None) | k.floats(None, None, None, None),
    keys=("str", "str_", "int", "int64", "int32", "float", "float64", "bool", "bool_"),
)
_LOGISTIC_CV = {
    "Cs_": k.floats(None),
    "C_": k.any_real | k.floats(None),
    "scores_": _by_label | k.floats(None, None) | k.floats(None, None, None),
    "coefs_paths_": _by_label
    | k.floats(None, None, None)
    | k.floats(None, None, None, None)
    | k.array(("<f8",), None, None, None, None, None),
    "l1_ratio_": _ratios | k.nothing | k.any_real,
    "l1_ratios_": _ratios | k.nothing,
}


def _linear(**more: Kind) -> Known:
    return Known({**_LINEAR, **more}, _check_linear)


def _check_linear(model: Part) -> None:
    """Refuse coefficients that are not for the classes, or for columns that it does not name."""
    if "coef_" not in model.attributes:
        return
    kind = "a linear model whose coefficients do not fit its columns"
    require("n_features_in_" in model.attributes, kind)
    rows = model.sizes.get("outputs")
    if "classes" in model.sizes and rows is not None:
        n = model.sizes["classes"]
        require(rows == n or (rows == 1 and n <= 2), "a linear model of other classes")


# -- preprocessing ---------------------------------------------------------------------------------

_scaled = k.nothing | _vector
_pair = k.tuple_of(k.any_real, k.any_real)
_IMPUTER = {
    "statistics_": _vector | k.objects(k.setting, "features") | k.labels("features", unique=False),
    "indicator_": k.nothing | k.part("sklearn.impute._base.MissingIndicator", features="features"),
    "_fit_dtype": k.dtypes,
    "_fill_dtype": k.dtypes,
}
_INDICATOR = {
    "features_": k.ints(None, low=0),
    "_n_features": k.whole(1, k.MOST_FEATURES, size="features"),
    "_precomputed": k.flag,
}


def _check_indicator(indicator: Part) -> None:
    if "features_" in indicator.attributes:
        chosen = indicator.array("features_")
        n = indicator.sizes.get("features", 0)
        require(not chosen.size or int(chosen.max()) < n, "an indicator of columns it has not")
        require(len(np.unique(chosen)) == len(chosen), "an indicator that repeats a column")


def _fits_partial(node: Node, scope: Scope) -> bool:
    """Accept what boosting with categories has, and no other function with arguments."""
    inside = node["content"]
    return (
        k.function(CHECK_ARRAY).admits(inside["func"], scope)
        and k.tuple_of().admits(inside["args"], scope)
        and set(inside["kwds"].get("content", {})) <= {"dtype", "ensure_all_finite"}
        and k.mapping(k.flag | k.choice("allow-nan") | k.items(k.number_types, most=2)).admits(
            inside["kwds"], scope
        )
        and (k.nothing | k.mapping(k.nothing, most=0)).admits(inside["namespace"], scope)
    )


_check_array = Kind("a check of arrays", ("PartialNode",), _fits_partial)
_function = k.nothing | _check_array | k.trusted
_FUNCTION = {
    "func": _function,
    "inverse_func": k.nothing | k.trusted,
    "kw_args": k.nothing,
    "inv_kw_args": k.nothing,
    "feature_names_out": k.nothing | k.choice("one-to-one"),
}

# -- columns, pipelines and what is made of other models ---------------------------------------

_place = k.whole(-k.MOST_FEATURES, k.MOST_FEATURES) | k.text | k.flag
_chosen = (
    k.items(_place)
    | k.bools(None)
    | k.ints(None)
    | k.words()
    | k.slices
    | k.text
    | k.whole(0, k.MOST_FEATURES)
)
_transformer = k.choice("drop", "passthrough") | k.model
_step = k.tuple_of(k.text, _transformer, _chosen)
_COLUMNS = {
    "transformers": k.items(k.tuple_of(k.text, _transformer, _chosen | k.trusted)),
    "transformers_": k.items(_step),
    "_columns": k.items(_chosen),
    "_remainder": _step,
    "_transformer_to_input_indices": k.mapping(k.items(k.whole(0)) | k.ints(None, low=0)),
    "output_indices_": k.mapping(k.slices),
    "sparse_output_": k.flag,
    "_n_features": k.whole(1, size="features"),
    "_name_to_fitted_passthrough": k.mapping(k.model),
    # In predicting, others use threads; here each job would be a process.
    "n_jobs": k.nothing | k.whole(-1, 16),
}
_MOST_STEPS = 1_000


def _check_columns(columns: Part) -> None:
    """Refuse steps that together take more columns than there are, many times over."""
    if "transformers_" not in columns.attributes:
        return
    steps = columns.items("transformers_")
    require(len(steps) <= _MOST_STEPS, f"{len(steps):,} steps for its columns")
    most = columns.sizes.get("features", 0)
    for step in steps:
        chosen = step["content"][2]
        n = len(chosen["content"]) if chosen["__loader__"] == "ListNode" else 0
        if chosen["__loader__"] == "NdArrayNode":
            is_plain = chosen["type"] == "numpy"
            n = columns.array_of(chosen).size if is_plain else len(chosen["content"])
        require(n <= most, "a step that takes more columns than there are")


_names = k.items(k.tuple_of(k.text, k.choice("drop", "passthrough") | k.nothing | k.model))
_PIPELINE = {"steps": _names}

_CALIBRATED = {
    "calibrated_classifiers_": k.items(k.part("sklearn.calibration._CalibratedClassifier")),
    "classes_": k.labels("classes"),
    "estimator": k.nothing | k.model,
}
_CALIBRATORS = tuple(
    f"sklearn.{name}"
    for name in (
        "calibration._SigmoidCalibration",
        "calibration._TemperatureScaling",
        "isotonic.IsotonicRegression",
    )
)
_CALIBRATED_ONE = {
    "estimator": k.model,
    "calibrators": k.items(k.part(*_CALIBRATORS)),
    "classes": k.labels(),
    "method": k.choice("isotonic", "sigmoid", "temperature"),
}
_ISOTONIC = {
    "increasing_": k.flag,
    "X_min_": k.any_real,
    "X_max_": k.any_real,
    "X_thresholds_": k.floats("thresholds", finite=True),
    "y_thresholds_": k.floats("thresholds", finite=True),
}
_TARGET = {
    "regressor_": k.model,
    "transformer_": k.model,
    "_training_dim": k.whole(1, 2),
}
_several = k.items(k.labels(), "outputs")
_DUMMY_OF_CLASSES = {
    "_strategy": k.text,
    "sparse_output_": k.flag,
    "n_outputs_": k.whole(1, k.MOST_OUTPUTS, size="outputs"),
    "classes_": k.labels("classes") | _several,
    "n_classes_": k.whole(1, k.MOST_LABELS, size="classes")
    | k.items(k.whole(1, k.MOST_LABELS), "outputs"),
    "class_prior_": k.floats("classes") | k.items(k.floats(None), "outputs"),
    "constant": k.setting,
}
_DUMMY = {
    "n_outputs_": k.whole(1, k.MOST_OUTPUTS, size="outputs"),
    "constant_": k.floats(1, "outputs") | k.ints(1, "outputs"),
}


def _check_dummy(model: Part) -> None:
    if "n_outputs_" in model.attributes and "classes_" in model.attributes:
        several = model.attributes["classes_"]["__loader__"] == "ListNode"
        require(several == (model.sizes["outputs"] > 1), "a model of other outputs")


_DISCRIMINANT = {
    **_LINEAR,
    "priors_": k.floats("classes"),
    "_max_components": k.whole(),
    "means_": k.floats("classes", "features"),
    "xbar_": _vector,
    "explained_variance_ratio_": k.floats(None),
    "scalings_": k.floats(None, None),
    "covariance_": k.floats(None, None),
    "_n_features_out": k.whole(0, k.MOST_FEATURES),
}
_NAIVE = {
    "classes_": k.labels("classes"),
    "epsilon_": k.any_real,
    "theta_": k.floats("classes", "features"),
    "var_": k.floats("classes", "features"),
    "class_count_": k.floats("classes"),
    "class_prior_": k.floats("classes"),
}

# -- losses ----------------------------------------------------------------------------------------

_native = Kind(
    "a loss of scikit-learn",
    ("LossNode",),
    lambda node, scope: (
        node["__module__"].endswith("_loss")
        and node["__class__"] in NATIVE_LOSSES
        and k.tuples(k.any_real, most=2).admits(node["__reduce__"]["args"], scope)
        and (k.mapping(k.nothing, most=0) | k.tuples(k.nothing, most=0)).admits(
            node["content"], scope
        )
    ),
)
_LOSS = {
    "closs": _native | k.trusted,
    "approx_hessian": k.flag,
    "constant_hessian": k.flag,
    "device": k.nothing,
    "xp": k.nothing,
    "interval_y_pred": k.part("sklearn._loss.link.Interval"),
    "interval_y_true": k.part("sklearn._loss.link.Interval"),
    "link": k.part(),
    "n_classes": k.nothing | k.whole(1, k.MOST_LABELS),
    "quantile": k.real(0, 1),
    "class_indexing_offsets": k.nothing | k.ints(None),
    "y_true_int": k.nothing,
    "y_true_one_hot": k.nothing,
}
_INTERVAL = {
    "low": k.any_real,
    "high": k.any_real,
    "low_inclusive": k.flag,
    "high_inclusive": k.flag,
}
_LINK = {"interval_y_pred": k.part("sklearn._loss.link.Interval"), "epsilon": k.any_real}


def _all(module: str, *names: str) -> list[str]:
    return [f"sklearn.{module}.{name}" for name in names]


_LINKS = ("HalfLogitLink", "IdentityLink", "LogLink", "LogitLink", "MultinomialLogit")
_LOSSES = (
    "AbsoluteError",
    "HalfBinomialLoss",
    "HalfGammaLoss",
    "HalfMultinomialLoss",
    "HalfPoissonLoss",
    "HalfSquaredError",
    "PinballLoss",
)
_GENERAL = ("GammaRegressor", "PoissonRegressor", "TweedieRegressor")
_DATA = "preprocessing._data"

KNOWN: dict[str, Known] = {
    **dict.fromkeys(_all("_loss.link", *_LINKS), Known(_LINK)),
    **dict.fromkeys(_all("_loss.link", "Interval"), Known(_INTERVAL)),
    **dict.fromkeys(_all("_loss.loss", *_LOSSES), Known(_LOSS)),
    **dict.fromkeys(
        _all("linear_model._base", "LinearRegression"),
        _linear(rank_=k.setting, singular_=k.floats(None)),
    ),
    **dict.fromkeys(
        [
            *_all("linear_model._ridge", "Ridge", "RidgeClassifier"),
            *_all("linear_model._quantile", "QuantileRegressor"),
            *_all("linear_model._coordinate_descent", "ElasticNet", "Lasso"),
            *_all("linear_model._logistic", "LogisticRegression"),
        ],
        _linear(
            _label_binarizer=k.part("sklearn.preprocessing._label.LabelBinarizer"),
            l1_ratio=k.nothing | k.real(0, 1),
        ),
    ),
    **dict.fromkeys(
        _all("linear_model._ridge", "RidgeCV"),
        _linear(best_score_=k.any_real | k.floats(None), cv_results_=k.floats(None, None)),
    ),
    **dict.fromkeys(
        _all("linear_model._coordinate_descent", "ElasticNetCV", "LassoCV"), _linear(**_PATHS)
    ),
    **dict.fromkeys(
        _all("linear_model._bayes", "ARDRegression", "BayesianRidge"), _linear(**_BAYES)
    ),
    **dict.fromkeys(_all("linear_model._glm.glm", *_GENERAL), _linear(_base_loss=k.model)),
    **dict.fromkeys(
        _all("linear_model._huber", "HuberRegressor"),
        _linear(scale_=k.any_real, outliers_=k.bools(None)),
    ),
    **dict.fromkeys(
        _all("linear_model._logistic", "LogisticRegressionCV"), _linear(**_LOGISTIC_CV)
    ),
    **dict.fromkeys(
        _all("discriminant_analysis", "LinearDiscriminantAnalysis"),
        Known(_DISCRIMINANT, _check_linear),
    ),
    **dict.fromkeys(_all("naive_bayes", "GaussianNB"), Known(_NAIVE)),
    **dict.fromkeys(_all("calibration", "CalibratedClassifierCV"), Known(_CALIBRATED)),
    **dict.fromkeys(_all("calibration", "_CalibratedClassifier"), Known(_CALIBRATED_ONE)),
    **dict.fromkeys(
        _all("calibration", "_SigmoidCalibration"), Known({"a_": k.any_real, "b_": k.any_real})
    ),
    **dict.fromkeys(_all("calibration", "_TemperatureScaling"), Known({"beta_": k.any_real})),
    **dict.fromkeys(_all("isotonic", "IsotonicRegression"), Known(_ISOTONIC)),
    **dict.fromkeys(
        _all("compose._column_transformer", "ColumnTransformer"), Known(_COLUMNS, _check_columns)
    ),
    **dict.fromkeys(_all("compose._target", "TransformedTargetRegressor"), Known(_TARGET)),
    **dict.fromkeys(_all("pipeline", "Pipeline"), Known(_PIPELINE)),
    **dict.fromkeys(_all("frozen._frozen", "FrozenEstimator"), Known({"estimator": k.model})),
    **dict.fromkeys(_all("dummy", "DummyClassifier"), Known(_DUMMY_OF_CLASSES, _check_dummy)),
    **dict.fromkeys(_all("dummy", "DummyRegressor"), Known(_DUMMY)),
    **dict.fromkeys(_all("impute._base", "MissingIndicator"), Known(_INDICATOR, _check_indicator)),
    **dict.fromkeys(_all("impute._base", "SimpleImputer"), Known(_IMPUTER)),
    **dict.fromkeys(
        _all(_DATA, "MaxAbsScaler"),
        Known({"n_samples_seen_": _count, "max_abs_": _vector, "scale_": _vector}),
    ),
    **dict.fromkeys(
        _all(_DATA, "MinMaxScaler"),
        Known(
            {
                "n_samples_seen_": _count,
                "feature_range": _pair,
                **dict.fromkeys(
                    ("scale_", "min_", "data_min_", "data_max_", "data_range_"), _vector
                ),
            }
        ),
    ),
    **dict.fromkeys(
        _all(_DATA, "PowerTransformer"),
        Known(
            {
                "lambdas_": _vector,
                "_scaler": k.part("sklearn.preprocessing._data.StandardScaler"),
            }
        ),
    ),
    **dict.fromkeys(
        _all(_DATA, "QuantileTransformer"),
        Known(
            {
                "n_quantiles_": k.whole(1, size="quantiles"),
                "references_": k.floats("quantiles"),
                "quantiles_": k.floats("quantiles", "features"),
            }
        ),
    ),
    **dict.fromkeys(
        _all(_DATA, "RobustScaler"),
        Known({"center_": _scaled, "scale_": _scaled, "quantile_range": _pair}),
    ),
    **dict.fromkeys(
        _all(_DATA, "StandardScaler"),
        Known({"n_samples_seen_": _count, "mean_": _scaled, "var_": _scaled, "scale_": _scaled}),
    ),
    **dict.fromkeys(
        _all("preprocessing._function_transformer", "FunctionTransformer"), Known(_FUNCTION)
    ),
    **dict.fromkeys(
        _all("preprocessing._label", "LabelBinarizer"),
        Known({"classes_": k.labels("classes"), "y_type_": k.text, "sparse_input_": k.flag}),
    ),
    **dict.fromkeys(
        _all("preprocessing._label", "LabelEncoder"), Known({"classes_": k.labels("classes")})
    ),
}
