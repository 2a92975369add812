"""What a model file may hold.

skops trusts every scikit-learn estimator; this list is shorter. It has condrisk's own estimators
and rules, and those of scikit-learn that work on numpy arrays alone or on trees, which are
validated.
Left out is what hands arrays from the file to native code that does not check them (support
vectors, neighbours' trees, gradient boosting's stages), which a caller may trust by
``trusted=["sklearn"]``, and anything that runs a function named in the file.
"""

from __future__ import annotations

_HIST = "sklearn.ensemble._hist_gradient_boosting"

TREE = "sklearn.tree._tree.Tree"
CHECK_ARRAY = "sklearn.utils.validation.check_array"

_CONDRISK = {
    "condrisk.deferral._deferral": ("Deferral",),
    "condrisk.deferral._expert": ("ExpertRule",),
    "condrisk.deferral._expert_risk": ("ExpertRisk",),
    "condrisk.deferral._exploring": ("ExploringRule",),
    "condrisk.deferral._rate_control": ("RateControlRule",),
    "condrisk.deferral._risk_control": ("RiskControlRule",),
    "condrisk.deferral._rules": ("BudgetRule", "CostRule"),
    "condrisk.deferral._support_rule": ("SupportRule",),
    "condrisk.learners._column_encoders": (
        "Dates",
        "Empty",
        "Labels",
        "Numbers",
        "Ordered",
        "SparseRows",
        "Words",
    ),
    "condrisk.learners._decision": ("BayesDecision",),
    "condrisk.learners._distribution": ("DistributionRegressor",),
    "condrisk.learners._encoder": ("TableEncoder",),
    "condrisk.learners._gaussian_process": ("GaussianProcess", "_Part"),
    "condrisk.learners._loss_regressor": ("LossRegressor",),
    "condrisk.learners._members": ("Committee", "Forest"),
    "condrisk.learners._stack": ("StackedClassifier", "StackedRegressor"),
    "condrisk.learners._stack_members": ("Averaged", "AveragedClasses", "Process", "_Filled"),
    "condrisk.losses._classes": ("Brier", "CostMatrix", "LogLoss", "ZeroOne"),
    "condrisk.losses._numeric": ("AbsoluteError", "Huber", "Pinball", "SquaredError"),
    "condrisk.losses._resolve": ("CustomLoss", "PrecomputedLoss"),
    "condrisk.risk._auto": ("AutoRisk",),
    "condrisk.risk._calibration": ("Scores",),
    "condrisk.risk._committee": ("RiskCommittee", "RootTrees", "RowTrees", "Trees"),
    "condrisk.risk._correction": ("Correction",),
    "condrisk.risk._hybrid": ("HybridRisk",),
    "condrisk.risk._mixture": ("RiskMixture",),
    "condrisk.risk._plugin": ("PlugInRisk",),
    "condrisk.risk._regression": ("RegressionRisk",),
    "condrisk.shift._leaves": ("Leaves",),
    "condrisk.shift._support": ("DistanceSupport", "ForestSupport"),
    "condrisk.torch._classifier": ("TorchClassifier",),
    "condrisk.torch._embedder": ("Embedder",),
    "condrisk.torch._network": ("Network",),
    "condrisk.torch._regressor": ("TorchRegressor",),
}
_MAKERS: dict[str, tuple[str, ...]] = {
    "condrisk.learners._members": ("fit_boosting", "fit_log_linear"),
}
_SKLEARN = {
    "sklearn._loss.link": (
        "HalfLogitLink",
        "IdentityLink",
        "Interval",
        "LogLink",
        "LogitLink",
        "MultinomialLogit",
    ),
    "sklearn._loss.loss": (
        "AbsoluteError",
        "HalfBinomialLoss",
        "HalfGammaLoss",
        "HalfMultinomialLoss",
        "HalfPoissonLoss",
        "HalfSquaredError",
        "PinballLoss",
    ),
    "sklearn.calibration": (
        "CalibratedClassifierCV",
        "_CalibratedClassifier",
        "_SigmoidCalibration",
        "_TemperatureScaling",
    ),
    "sklearn.compose._column_transformer": ("ColumnTransformer",),
    "sklearn.compose._target": ("TransformedTargetRegressor",),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis",),
    "sklearn.dummy": ("DummyClassifier", "DummyRegressor"),
    "sklearn.ensemble._forest": (
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ),
    f"{_HIST}.binning": ("_BinMapper",),
    f"{_HIST}.gradient_boosting": (
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
    ),
    f"{_HIST}.predictor": ("TreePredictor",),
    "sklearn.ensemble._voting": ("VotingClassifier", "VotingRegressor"),
    "sklearn.frozen._frozen": ("FrozenEstimator",),
    "sklearn.impute._base": ("MissingIndicator", "SimpleImputer"),
    "sklearn.isotonic": ("IsotonicRegression",),
    "sklearn.linear_model._base": ("LinearRegression",),
    "sklearn.linear_model._bayes": ("ARDRegression", "BayesianRidge"),
    "sklearn.linear_model._coordinate_descent": (
        "ElasticNet",
        "ElasticNetCV",
        "Lasso",
        "LassoCV",
    ),
    "sklearn.linear_model._glm.glm": ("GammaRegressor", "PoissonRegressor", "TweedieRegressor"),
    "sklearn.linear_model._huber": ("HuberRegressor",),
    "sklearn.linear_model._logistic": ("LogisticRegression", "LogisticRegressionCV"),
    "sklearn.linear_model._ridge": ("Ridge", "RidgeCV", "RidgeClassifier"),
    "sklearn.linear_model._quantile": ("QuantileRegressor",),
    "sklearn.naive_bayes": ("GaussianNB",),
    "sklearn.pipeline": ("Pipeline",),
    "sklearn.preprocessing._data": (
        "MaxAbsScaler",
        "MinMaxScaler",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    ),
    "sklearn.preprocessing._encoders": ("OneHotEncoder", "OrdinalEncoder"),
    "sklearn.preprocessing._function_transformer": ("FunctionTransformer",),
    "sklearn.preprocessing._polynomial": ("PolynomialFeatures",),
    "sklearn.preprocessing._label": ("LabelBinarizer", "LabelEncoder"),
    "sklearn.tree._classes": (
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
    ),
}
_NATIVE_LOSSES = (
    "CyAbsoluteError",
    "CyHalfBinomialLoss",
    "CyHalfGammaLoss",
    "CyHalfMultinomialLoss",
    "CyHalfPoissonLoss",
    "CyHalfSquaredError",
    "CyPinballLoss",
)
_SCALARS = ("bool", "bool_", "float32", "float64", "int32", "int64", "uint8", "uint32", "uint64")


def _full(names: dict[str, tuple[str, ...]]) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for module, inside in names.items() for name in inside)


# By the loader that skops would use, the types that it may load.
ALLOWED: dict[str, frozenset[str]] = {
    "DTypeNode": frozenset({"numpy.dtype"}),
    "DictNode": frozenset({"builtins.dict"}),
    # The first is part of boosting with categories. The others made members of a mixture, and are
    # not called again.
    "FunctionNode": frozenset({CHECK_ARRAY}) | _full(_MAKERS),
    "JsonNode": frozenset({"builtins.str"}),
    "ListNode": frozenset({"builtins.list"}),
    "LossNode": frozenset(f"sklearn._loss._loss.{name}" for name in _NATIVE_LOSSES),
    "NdArrayNode": frozenset({"numpy.ndarray", *(f"numpy.{name}" for name in _SCALARS)}),
    "ObjectNode": _full(_CONDRISK) | _full(_SKLEARN),
    "PartialNode": frozenset({"functools.partial"}),
    "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "TreeNode": frozenset({TREE}),
    "TupleNode": frozenset(
        {
            "builtins.tuple",
            "condrisk.learners._gaussian_process.Kernel",
            "condrisk._mixing.Pool",
        }
    ),
    "TypeNode": frozenset(
        {
            "builtins.bool",
            "builtins.float",
            "builtins.int",
            "builtins.str",
            "numpy.bool",
            "numpy.float32",
            "numpy.float64",
            "numpy.int32",
            "numpy.int64",
            "numpy.str_",
            "sklearn.ensemble._forest.ExtraTreesRegressor",
            "sklearn.ensemble._forest.RandomForestRegressor",
        }
    ),
}
