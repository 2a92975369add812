"""What routers between models may have in a file, besides their parameters."""

from __future__ import annotations

from condrisk.persistence import _kinds as k
from condrisk.persistence._closed import Known, Part, require

_number, _share, _seed = k.any_real, k.real(0, 1), k.whole(0, 2**64 - 1)
_TREES = "sklearn.tree._classes.ExtraTreeRegressor"


def _check_forest(forest: Part) -> None:
    """Refuse values that are not one row for each node of each tree."""
    trees = [forest.inside(node).attributes["tree_"] for node in forest.items("trees")]
    sizes = [k.scalar(tree["content"]["content"]["node_count"], forest.scope) for tree in trees]
    found = [forest.scope.file.header(node["file"])[0][:1] for node in forest.items("values")]
    require(found == [(n,) for n in sizes], "a forest with odd leaves")


KNOWN: dict[str, Known] = {
    "condrisk.routing._router.ModelRouter": Known(
        {
            "rule_": k.nothing | k.model,
            "models_": k.items(k.text, "models", most=k.MOST_OUTPUTS),
            "costs_": k.floats("models", finite=True),
            "encoder_": k.nothing | k.part("condrisk.learners._encoder.TableEncoder"),
            "_losses": k.part("condrisk.routing._joint.JointLosses", models="models"),
            "difference_share_": _share,
            "_known_risks": k.tuple_of(
                k.floats("known", "models"), k.floats("known"), k.bools("known")
            ),
        }
    ),
    "condrisk.routing._joint.JointLosses": Known(
        {
            "grouped": k.flag,
            "blocks": k.ints("columns", low=0, high=k.MOST_FEATURES),
            "seed": _seed,
            "n_jobs": k.n_jobs,
            "median": k.floats("columns"),
            "centre": k.floats("columns"),
            "scale": k.floats("columns"),
            "axes": k.nothing | k.floats(None, "columns"),
            "lowest": k.floats("models"),
            "highest": k.floats("models"),
            "difference_share": _share,
            "level_share": _share,
            "ridge": k.part("condrisk.routing._linear.JointRidge", models="models"),
            "forest": k.part("condrisk.routing._forest.JointForest", models="models"),
            "base": k.floats("models"),
            "level": k.part("condrisk.routing._level.LevelCurve"),
        }
    ),
    "condrisk.routing._linear.JointRidge": Known(
        {"coefficients": k.floats(None, "models"), "intercepts": k.floats("models")}
    ),
    "condrisk.routing._forest.JointForest": Known(
        {
            "seed": _seed,
            "n_jobs": k.n_jobs,
            "trees": k.items(k.part(_TREES), most=10_000),
            "values": k.items(k.floats(None, "models"), most=10_000),
        },
        _check_forest,
    ),
    "condrisk.routing._level.LevelCurve": Known(
        {"seed": _seed, "at": k.floats("points"), "added": k.floats("points")}
    ),
}
