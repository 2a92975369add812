"""What objects of condrisk may have in a file, besides their parameters."""

from __future__ import annotations

import math
from collections.abc import Callable

from condrisk.persistence import _kinds as k
from condrisk.persistence._closed import Known, Part, require
from condrisk.persistence._kinds import Kind

_number, _vector = k.any_real, k.floats("features")
_shares = k.mapping(_number, most=100)
_POOL = k.tuple_of(k.floats(None), k.floats(None), name="condrisk._mixing.Pool")
_loss = k.part() | k.trusted
_forests = k.part(
    "sklearn.ensemble._forest.ExtraTreesRegressor", "sklearn.ensemble._forest.RandomForestRegressor"
)
_forest_types = k.types(
    "sklearn.ensemble._forest.ExtraTreesRegressor", "sklearn.ensemble._forest.RandomForestRegressor"
)
_seed = k.nothing | k.whole(0, 2**64 - 1)


def _of(where: str, /, *names: str, **attributes: Kind) -> dict[str, Known]:
    return {f"condrisk.{where}.{name}": Known(attributes) for name in names}


# -- risk estimators -------------------------------------------------------------------------------

_RISK = {
    "_pairs": k.nothing,
    "_held_out": k.nothing,
    "_classes": k.nothing | k.labels() | k.items(k.labels(), most=k.MOST_OUTPUTS),
    "_labels": k.labels(),
    "_target_task": k.nothing | k.choice("regression", "classification"),
    "n_outputs_": k.whole(1, k.MOST_OUTPUTS, size="outputs"),
    "predictor_": k.nothing | k.text | k.model,
    "loss_": _loss,
    "encoder_": k.nothing | k.part("condrisk.learners._encoder.TableEncoder"),
    "regressor_": k.nothing | k.model,
    "probability_": k.nothing | k.model,
    "probabilities_": k.items(k.model, most=100),
    "_settled": k.items(k.flag, most=100),
    "distribution_": k.nothing | k.model | k.items(k.model, "outputs"),
    "correction_": k.nothing | k.part("condrisk.risk._correction.Correction"),
    "pool_": _POOL,
    "scale_": _number,
    "_method": k.choice("decision_function", "predict_proba"),
    "calibrator_": k.nothing | k.model | k.items(k.nothing | k.model, "outputs"),
    "features_": k.text,
    "refit_factor_": _number,
}
_AUTO = {
    **_RISK,
    "_chosen": k.text,
    "_pools": k.mapping(_POOL, most=100),
    "_uses_responses": k.flag,
    "_budget": k.nothing | _number,
    "committee_": k.nothing | k.part("condrisk.risk._committee.RiskCommittee"),
    "mixture_": k.nothing | k.part("condrisk.risk._mixture.RiskMixture"),
    "second_model_": k.nothing | k.model,
    "leaderboard_": k.items(k.mapping(k.text | _number | k.nothing, most=100), most=100),
    "seconds_": _shares,
    "task_": k.choice("regression", "classification"),
}
_MEMBER = {"_kind": _forest_types, "_seed": _seed, "_n_jobs": k.n_jobs}
_MEMBERS = k.part(
    *(f"condrisk.risk._committee.{name}" for name in ("ManyRows", "RootTrees", "RowTrees", "Trees"))
)
_COMMITTEE = {
    "_least": _number,
    "_mean": _number,
    "_scale": _number,
    "_seed": _seed,
    "_n_jobs": k.n_jobs,
    "seconds": _shares,
    "shares": _shares,
}
_RISKS = {
    **_of("risk._auto", "AutoRisk", **_AUTO),
    **_of("risk._hybrid", "HybridRisk", **_RISK),
    **_of("risk._plugin", "PlugInRisk", **_RISK),
    **_of("risk._regression", "RegressionRisk", **_RISK),
    **_of(
        "risk._calibration",
        "Scores",
        classes=k.labels(),
        response=k.choice("decision_function", "predict_proba"),
        floor=k.real(0, 1),
    ),
    **_of("risk._committee", "Trees", **_MEMBER, _forest=_forests),
    **_of("risk._committee", "RootTrees", **_MEMBER, _roots=_forests, _variances=_forests),
    **_of(
        "risk._committee",
        "RowTrees",
        **_MEMBER,
        _forest=_forests,
        _n_columns=k.whole(1, k.MOST_FEATURES),
    ),
    **_of(
        "risk._committee",
        "ManyRows",
        _seed=_seed,
        _n_jobs=k.n_jobs,
        _model=k.part("condrisk.learners._loss_regressor.LossRegressor"),
    ),
    **_of("risk._committee", "RiskCommittee", **_COMMITTEE, _members=k.mapping(_MEMBERS, most=100)),
    **_of(
        "risk._mixture",
        "RiskMixture",
        **_COMMITTEE,
        _highest=_number,
        _models=k.mapping(k.model, most=100),
    ),
    **_of(
        "risk._correction",
        "Correction",
        shares=k.floats(2, finite=True),
        _line=k.floats(2),
        _forest=_forests,
        _least=_number,
        _largest=_number,
        _seed=_seed,
        _n_jobs=k.n_jobs,
    ),
}

# -- learners --------------------------------------------------------------------------------------

_LEARNER = {
    "encoder_": k.nothing | k.part("condrisk.learners._encoder.TableEncoder"),
    "_importances": k.nothing | k.floats("features"),
}
_STACK_MEMBER = {
    "_fill": k.part("condrisk.learners._stack_members._Filled"),
    "_models": k.items(k.model, most=1_000),
    "_n_classes": k.whole(0, k.MOST_LABELS),
    "_seed": _seed,
}
_stack_members = k.mapping(
    k.part(
        *(
            f"condrisk.learners._stack_members.{name}"
            for name in ("Averaged", "AveragedClasses", "Process")
        )
    ),
    most=100,
)
_STACK = {**_LEARNER, "_members": _stack_members, "seconds_": _shares}
_suffixes = k.items(k.text, most=2_000)
_COLUMN_ENCODERS = k.part(
    *(
        f"condrisk.learners._column_encoders.{name}"
        for name in (
            "Dates",
            "Empty",
            "Labels",
            "Numbers",
            "Ordered",
            "RichText",
            "SparseRows",
            "Words",
        )
    )
)
_KERNEL = k.tuple_of(
    k.floats("features"),
    _number,
    _number,
    k.real(0.5, 1.5),
    name="condrisk.learners._gaussian_process.Kernel",
)
# Gaussian processes keep rows, and compare every new one with all of them.
_MOST_ROWS = 10_000


def _few(*sizes: str, most: int) -> Callable[[Part], None]:
    def check(part: Part) -> None:
        for name in sizes:
            require(part.sizes.get(name, 0) <= most, f"a part of more than {most:,} {name}")

    return check


def _check_process(process: Part) -> None:
    _few("rows", "reference", most=_MOST_ROWS)(process)
    if "_reference" in process.attributes and process.sizes.get("reference"):
        most = int(process.array("_reference").max())
        require(most < process.sizes.get("rows", 0), "a process of rows that it has not")


_GAUSSIAN = {
    "_middle": _vector,
    "_spread": _vector,
    "_rows": k.floats("rows", "features"),
    "_reference": k.ints("reference", low=0),
    "_parts": k.items(
        k.part(
            "condrisk.learners._gaussian_process._Part",
            rows="rows",
            reference="reference",
            features="features",
        ),
        size=2,
    ),
    "seed": _seed,
    "smoothness": k.real(0.5, 1.5),
}
_PROCESS_PART = {
    "kernel": _KERNEL,
    "mean": _number,
    "scale": _number,
    "weights": k.floats("rows"),
    "reference_root": k.floats("reference", "reference"),
}
_LOSS_MEMBERS = k.part("condrisk.learners._members.Forest", "condrisk.learners._members.Committee")
# What made a member is kept by its name, and not called again.
_makers = k.function("condrisk.learners._members.fit_boosting") | k.function(
    "condrisk.learners._members.fit_log_linear"
)
_DISTRIBUTION = {
    "encoder_": _LEARNER["encoder_"],
    "mean_": k.model,
    "variance_": k.model,
    "_lowest": k.floats("inputs"),
    "_highest": k.floats("inputs"),
    "_most_uncertain": k.floats(None),
    "_least": _number,
    "_scale": _number,
    "residuals_": k.floats("points"),
    "residual_weights_": k.floats("points", low=0.0),
    "seconds_": _shares,
}


def _check_forest_member(member: Part) -> None:
    """Refuse values that are not one for each node of each tree."""
    if not {"forest", "values"} <= set(member.attributes):
        return
    forest = member.inside(member.attributes["forest"])
    trees = [forest.inside(node).attributes["tree_"] for node in forest.items("estimators_")]
    sizes = [k.scalar(tree["content"]["content"]["node_count"], member.scope) for tree in trees]
    found = [member.scope.file.header(node["file"])[0] for node in member.items("values")]
    require(found == [(n,) for n in sizes], "a forest with odd leaves")


def _check_loss_regressor(model: Part) -> None:
    """Its trees are asked directly, so that its own number of columns has to be theirs."""
    columns = model.sizes.get("features")
    if not model.is_none("encoder_"):
        encoder = model.inside(model.attributes["encoder_"])
        columns = encoder.value("n_features_out_")
    for node in model.items("_members") if "_members" in model.attributes else []:
        forest = model.inside(node).attributes.get("forest")
        if forest is not None:
            n = model.inside(forest).value("n_features_in_")
            require(n == columns, "a forest for other columns")


_LEARNERS = {
    **_of(
        "learners._column_encoders",
        "Dates",
        "Empty",
        "Labels",
        "Numbers",
        "Ordered",
        "SparseRows",
        "Words",
        suffixes=_suffixes,
        levels=k.items(k.text, most=k.MOST_FEATURES),
        ranked=k.flag,
        has_hours=k.flag,
        idf=k.floats("bins"),
        components=k.nothing | k.floats("components", "bins"),
    ),
    **_of(
        "learners._column_encoders",
        "RichText",
        parts=k.items(k.part("condrisk.learners._column_encoders.Components"), most=2),
        suffixes=_suffixes,
        blocks=k.items(k.whole(0, k.MOST_FEATURES), most=2_000),
    ),
    **_of(
        "learners._column_encoders",
        "Components",
        unit=k.choice("piece", "word"),
        idf=k.floats("bins"),
        components=k.floats("components", "bins"),
    ),
    **_of("learners._decision", "BayesDecision", model=k.model, model_=k.model, loss_=_loss),
    "condrisk.learners._distribution.DistributionRegressor": Known(
        _DISTRIBUTION,
        _few("points", most=_MOST_ROWS),
    ),
    **_of(
        "learners._encoder",
        "TableEncoder",
        _encoders=k.items(_COLUMN_ENCODERS),
        is_identity_=k.flag,
        n_features_out_=k.whole(0, k.MOST_FEATURES),
    ),
    "condrisk.learners._gaussian_process.GaussianProcess": Known(_GAUSSIAN, _check_process),
    "condrisk.learners._gaussian_process._Part": Known(_PROCESS_PART),
    "condrisk.learners._loss_regressor.LossRegressor": Known(
        {
            **_LEARNER,
            "_members": k.items(_LOSS_MEMBERS, most=10),
            "shares_": _shares,
            **dict.fromkeys(("_base", "_scale", "_mean", "_lowest", "_highest"), _number),
        },
        _check_loss_regressor,
    ),
    "condrisk.learners._members.Forest": Known(
        {
            "forest": _forests,
            "values": k.items(k.floats(None)),
            "seed": _seed,
            "n_jobs": k.n_jobs,
        },
        _check_forest_member,
    ),
    **_of(
        "learners._members",
        "Committee",
        fit_model=_makers,
        models=k.items(k.model, most=100),
        seed=_seed,
        share=k.real(-math.inf, math.inf),
    ),
    **_of(
        "learners._stack",
        "StackedRegressor",
        **_STACK,
        shares_=_shares,
        _mean=_number,
        _fold_means=k.floats(None),
    ),
    **_of(
        "learners._stack",
        "StackedClassifier",
        **_STACK,
        weights_=_shares,
        _pool=_POOL,
        classes_=k.labels(),
    ),
    **_of("learners._stack_members", "Averaged", "AveragedClasses", **_STACK_MEMBER),
    **_of(
        "learners._stack_members",
        "Process",
        _fill=_STACK_MEMBER["_fill"],
        _process=k.part("condrisk.learners._gaussian_process.GaussianProcess"),
        _scores=k.part("sklearn.preprocessing._data.PowerTransformer"),
        _seed=_seed,
        _smoothness=k.real(0.5, 1.5),
    ),
    **_of("learners._stack_members", "_Filled", _medians=_vector),
}

# -- risks corrected in segments -------------------------------------------------------------------


def _check_found_segments(found: Part) -> None:
    """Refuse factors that are not one for each node of each tree."""
    trees = [found.inside(node).attributes["tree_"] for node in found.items("trees")]
    sizes = [k.scalar(tree["content"]["content"]["node_count"], found.scope) for tree in trees]
    factors = [found.scope.file.header(node["file"])[0] for node in found.items("factors")]
    require(factors == [(n,) for n in sizes], "segments with odd factors")


_level = k.part("condrisk.risk._level.Level")
_SEGMENTS = {
    **_of(
        "risk._multicalibrated",
        "MulticalibratedRisk",
        risk_=k.model,
        loss_=_loss,
        encoder_=_LEARNER["encoder_"],
        groups_=k.items(k.part("condrisk._groups.Group"), most=100_000),
        corrections_=k.items(k.tuple_of(k.text, _number), most=1_000),
        _correction=k.part(
            "condrisk.risk._segment_corrections.FoundSegments",
            "condrisk.risk._segment_corrections.GivenSegments",
        ),
    ),
    **_of(
        "risk._level",
        "Level",
        factor=_number,
        share=k.real(0, 1),
        steps=k.nothing | k.part("sklearn.isotonic.IsotonicRegression"),
    ),
    **_of(
        "risk._segment_corrections",
        "GivenSegments",
        level=_level,
        steps=k.items(k.tuple_of(k.whole(0, 100_000), _number), most=1_000),
    ),
    **_of(
        "risk._relearnt",
        "Relearnt",
        regressor=k.part("condrisk.learners._loss_regressor.LossRegressor"),
        level=_level,
        share=k.real(0, 1),
    ),
    "condrisk.risk._segment_corrections.FoundSegments": Known(
        {
            "relearnt": k.nothing | k.part("condrisk.risk._relearnt.Relearnt"),
            "level": _level,
            "least": _number,
            "trees": k.items(k.part("sklearn.tree._classes.DecisionTreeRegressor"), most=1_000),
            "factors": k.items(k.floats(None), most=1_000),
        },
        _check_found_segments,
    ),
}

# -- losses and rules ------------------------------------------------------------------------------

_least_and_most = {"minimum": _number, "maximum": _number}
_LOSSES = {
    **_of(
        "losses._averaged",
        "AveragedLoss",
        **_least_and_most,
        loss=_loss,
        name=k.text,
        task=k.nothing | k.choice("regression", "classification"),
        weights=k.nothing | k.tuples(k.real(0), most=k.MOST_OUTPUTS),
    ),
    **_of("losses._classes", "Brier", "LogLoss", "ZeroOne"),
    **_of(
        "losses._classes",
        "CostMatrix",
        **_least_and_most,
        labels=k.nothing | k.labels(),
        matrix=k.floats("classes", "classes", finite=True),
    ),
    **_of("losses._numeric", "AbsoluteError", "SquaredError"),
    **_of("losses._numeric", "Huber", delta=k.real(0)),
    **_of("losses._numeric", "Pinball", quantile=k.real(0, 1)),
    **_of(
        "losses._resolve",
        "CustomLoss",
        fn=k.trusted,
        minimum=_number,
        name=k.text,
        response=k.choice("predict", "predict_proba"),
    ),
    **_of("losses._resolve", "PrecomputedLoss", minimum=_number),
}
_GROUP = k.part("condrisk._groups.Group")
_CONTROLLED = {
    "feasible_": k.flag,
    "guarantee_": k.text,
    "n_calibration_": k.whole(0),
    "p_values_": k.floats(None) | k.floats(None, None),
    "thresholds_": k.floats(None) | k.floats(None, None),
    "threshold_": _number,
    "test_": k.text,
    "risk_bound_": _number,
}
_rule = k.nothing | k.model
_RULES = {
    **_of("deferral._deferral", "Deferral", risk_=k.model, rule_=k.model, cost=k.nothing | _number),
    **_of("deferral._expert", "ExpertRule"),
    **_of(
        "deferral._expert_risk",
        "ExpertRisk",
        overlap_=k.model,
        risk_=k.model,
        propensity_model_=k.model,
        assumptions_=k.tuples(k.text),
    ),
    **_of("deferral._exploring", "ExploringRule", rule_=_rule, _draws=k.nothing | k.generator),
    **_of("deferral._rate_control", "RateControlRule", **_CONTROLLED),
    **_of(
        "deferral._risk_control",
        "RiskControlRule",
        **_CONTROLLED,
        groups_=k.items(_GROUP, "groups"),
        group_names_=k.items(k.text, "groups"),
        group_thresholds_=k.floats("groups"),
    ),
    **_of(
        "_groups",
        "Group",
        column=k.text | k.whole(0, k.MOST_FEATURES),
        value=k.nothing | k.text,
        low=_number,
        high=_number,
    ),
    **_of("deferral._rules", "BudgetRule", threshold_=_number),
    **_of("deferral._rules", "CostRule"),
    **_of(
        "deferral._support_rule",
        "SupportRule",
        rule_=_rule,
        support_=k.model,
        minimum_=_number,
    ),
}

# -- support ---------------------------------------------------------------------------------------


def _check_leaves(leaves: Part) -> None:
    if "place" in leaves.attributes and leaves.sizes.get("nodes"):
        most = int(leaves.array("place").max())
        require(most < leaves.sizes.get("leaves", 0), "a support with leaves that it has not")


_of_leaf = k.floats("leaves", "features")
_SUPPORT = {
    "condrisk.shift._leaves.Leaves": Known(
        {
            "high": _of_leaf,
            "low": _of_leaf,
            "per_gap": _of_leaf,
            "place": k.ints("nodes", low=0),
            "rows": k.ints("leaves", low=0),
        },
        _check_leaves,
    ),
    "condrisk.shift._support.DistanceSupport": Known(
        {
            "_center": _vector,
            "_scale": _vector,
            "_neighbors": k.floats("rows", "features", finite=True),
            "usual_distance_": _number,
        },
        _few("rows", most=_MOST_ROWS),
    ),
    **_of(
        "shift._support",
        "ForestSupport",
        forest_=k.model,
        _leaves=k.items(k.part("condrisk.shift._leaves.Leaves", features="features"), most=100_000),
    ),
}

# -- networks: what makes them has to be trusted -----------------------------------------------

_weights = k.mapping(k.any_numbers)
_NETWORK = {
    "network_": k.part("condrisk.torch._network.Network"),
    "history_": k.mapping(k.items(_number) | k.floats(None), most=100),
    "embedding_size_": k.nothing | k.whole(1, k.MOST_FEATURES),
    "input_shape_": k.tuples(k.whole(1, k.MOST_FEATURES), most=10),
    "_offset": k.setting,
    "_unit": k.setting,
    "classes_": k.labels(),
    "_label_encoder": k.model,
}
_TORCH = {
    **_of("torch._classifier", "TorchClassifier", **_NETWORK),
    **_of("torch._regressor", "TorchRegressor", **_NETWORK),
    **_of(
        "torch._embedder",
        "Embedder",
        estimator=k.model,
        estimator_=k.model,
        _n_features_out=k.whole(1, k.MOST_FEATURES),
    ),
    **_of(
        "torch._network",
        "Network",
        module=k.trusted,
        arguments=k.mapping(k.setting, most=1_000),
        size=k.nothing | k.whole(1, 100_000) | k.items(k.whole(1)) | k.tuples(k.whole(1)),
        batch=k.whole(1, 2**31),
        mean=k.any_numbers,
        scale=k.any_numbers,
        state=_weights,
    ),
}

KNOWN: dict[str, Known] = {
    **_RISKS,
    **_LEARNERS,
    **_SEGMENTS,
    **_LOSSES,
    **_RULES,
    **_SUPPORT,
    **_TORCH,
}
