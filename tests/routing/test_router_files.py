"""Routers in files: what comes back, and what is refused."""

import json
import warnings
import zipfile

import numpy as np
import polars as pl
import pytest

from condrisk.app.models import fit_router, open_model, open_router
from condrisk.app.report import measure_router, render_router
from condrisk.datasets import make_routing
from condrisk.deferral import RiskControlRule
from condrisk.persistence import ModelFileError, load_model, read_manifest, save_model
from condrisk.routing import ModelRouter


@pytest.fixture(scope="module")
def world():
    return make_routing(400, n_models=2, random_state=0)


@pytest.fixture(scope="module")
def saved(world, tmp_path_factory):
    path = tmp_path_factory.mktemp("router") / "router.skops"
    rule = RiskControlRule(0.4, confidence=0.8, cap=1)
    router = ModelRouter(world.costs, rule=rule, random_state=0).fit(world.X, world.losses)
    new = world.sample(300, random_state=1)
    save_model(router, path, schema=world.X, reference=(new.X, new.losses))
    return router, path


def test_it_comes_back_as_it_was(saved, world):
    router, path = saved
    back = load_model(path)
    for wish in ({"price": 0.1}, {"budget": 0.45}, {"target": 0.2}):
        first, second = router.route(world.X, **wish), back.route(world.X, **wish)
        np.testing.assert_array_equal(first.model, second.model)
        np.testing.assert_allclose(first.risk, second.risk)
    assert not hasattr(back, "held_out_")
    assert first.guarantee == second.guarantee


def test_the_manifest_says_what_it_is_worth(saved):
    manifest = read_manifest(saved[1])
    assert manifest["task"] == "routing"
    assert manifest["routing"]["costs"] == {"small": 0.2, "large": 0.6}
    assert manifest["routing"]["kept_by_rule"] == "small"
    figures = manifest["routing"]["figures"]
    assert figures["rows"] == 300
    assert figures["apgr"]["low"] < figures["apgr"]["value"] < figures["apgr"]["high"]
    page = render_router(manifest)
    assert page.startswith("<!doctype html>")
    assert "<script" not in page


def test_texts_need_no_words_in_the_file(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"secret{k}" for k in rng.integers(400, size=8)) for _ in range(300)]
    losses = {"a": rng.integers(2, size=300) * 1.0, "b": rng.integers(2, size=300) * 1.0}
    router = ModelRouter({"a": 1, "b": 2}, random_state=0).fit(texts, losses)
    save_model(router, tmp_path / "r.skops", schema=texts)
    back = load_model(tmp_path / "r.skops")
    np.testing.assert_allclose(back.predict_risk(texts[:9]), router.predict_risk(texts[:9]))
    assert b"secret" not in (tmp_path / "r.skops").read_bytes()


def test_a_router_is_no_model_of_tables(saved):
    with pytest.raises(ValueError, match="the model is a router"):
        open_model(saved[1])


def with_routing(source, path, **changes):
    """Write a router's file whose manifest says something else of it."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as made:
        for name in old.namelist():
            data = old.read(name)
            if name == "manifest.json":
                manifest = json.loads(data)
                manifest["routing"] |= changes
                data = json.dumps(manifest).encode()
            made.writestr(name, data)
    return path


def test_a_manifest_of_another_router_is_refused(saved, tmp_path):
    path = with_routing(saved[1], tmp_path / "other.skops", costs={"small": 0.1, "large": 0.6})
    with pytest.raises(ModelFileError, match="another router than its manifest says"):
        load_model(path)


@pytest.mark.parametrize(
    "columns",
    [
        ["small", "large"],
        "small",
        {"small": "a"},
        {"small": "a", "other": "b"},
        {"small": "a", "large": "b", "other": "c"},
        {"small": "a", "large": 1},
    ],
)
def test_columns_of_losses_that_are_not_those_of_the_models_are_refused(columns, saved, tmp_path):
    path = tmp_path / "other.skops"
    sound = {"small": "a", "large": "b"}
    routing = read_manifest(with_routing(saved[1], path, loss_columns=sound))["routing"]
    assert routing["loss_columns"] == sound
    with pytest.raises(ModelFileError, match="its manifest has no routing"):
        read_manifest(with_routing(saved[1], path, loss_columns=columns))


def frame_of(world):
    columns = {f"err_{name}": pl.Series(values) for name, values in world.losses.items()}
    return pl.DataFrame(world.X).with_columns(**columns)


def test_tables_are_fitted_and_measured(world):
    columns = {"small": "err_small", "large": "err_large"}
    notes = []
    router = fit_router(
        frame_of(world), losses=columns, costs=world.costs, note=notes.append, random_state=1
    )
    assert router.schema.names == tuple(f"column_{k}" for k in range(6))
    assert router.manifest["routing"]["loss_columns"] == columns
    figures = measure_router(router, frame_of(world.sample(500, random_state=9)))
    assert figures["rows"] == 500
    assert not notes
    assert open_router(router) is router


def test_a_target_out_of_reach_is_one_note(world):
    notes = []
    columns = {"small": "err_small", "large": "err_large"}
    given = {"losses": columns, "costs": world.costs, "risk_target": 0.001, "cap": 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        router = fit_router(frame_of(world), **given, note=notes.append)
    (note,) = notes
    assert note.startswith("no row is left with small, every row goes to large: a mean loss of at")
    assert router.manifest["rule"].startswith("no row is left with small")


WRONG = {
    "risk_target needs cap": {"risk_target": 0.3},
    "losses and costs must name the same models": {"losses": {"small": "err_small"}},
    "is not a column": {"losses": {"small": "err_smal", "large": "err_large"}},
    "must hold numbers, or true": {"losses": {"small": "text", "large": "err_large"}},
    "holdout is a share": {"holdout": 1.5},
    "'small' has 0 answers": {"losses": {"small": "nothing", "large": "err_large"}},
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_tables_are_told_in_a_sentence(world, message):
    frame = frame_of(world).with_columns(
        text=pl.lit("some"), nothing=pl.lit(None, dtype=pl.Float64)
    )
    given = {"losses": {"small": "err_small", "large": "err_large"}, "costs": world.costs}
    with pytest.raises(ValueError, match=message):
        fit_router(frame, **(given | WRONG[message]))
