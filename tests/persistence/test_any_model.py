"""Any fitted model in every command: saved, refused untrusted, scored, served, watched."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from strangers import StrangerRisk
from typer.testing import CliRunner

from condrisk import Deferral, PlugInRisk, RegressionRisk, RiskControlRule
from condrisk.app.cli import app
from condrisk.app.monitor import monitor
from condrisk.app.report import build_report
from condrisk.app.scoring import score_file
from condrisk.app.serve import create_app
from condrisk.persistence import ModelFileError, load_model, read_manifest, save_model
from saved_models import scored_by_service

# A network that is hardly trained: no good predictors.
pytestmark = pytest.mark.filterwarnings("ignore:the predictor is worse")


def frame(n, seed, *, classes=False):
    """Return rows with a gap, whole numbers and categories, and targets of unequal noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    X = pd.DataFrame(
        {
            "x": x,
            "count": rng.integers(0, 9, n),
            "kind": pd.Categorical(rng.choice(["u", "v", "w"], n), categories=["w", "v", "u"]),
        }
    )
    y = 2 * x + np.exp(x) * rng.normal(size=n)
    return X, np.where(y > 0, "up", "down") if classes else y


def numbers(n, seed):
    X, y = frame(n, seed)
    return X[["x", "count"]].astype(float), y


def lightgbm_in_risk_control():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = frame(600, 0, classes=True)
    clf = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1, random_state=0)
    rule = RiskControlRule(0.3, random_state=0)
    return Deferral(PlugInRisk(clf, random_state=0), rule=rule).fit(X, y), X


def catboost_in_regression():
    catboost = pytest.importorskip("catboost")
    X, y = numbers(300, 0)
    reg = catboost.CatBoostRegressor(
        iterations=20, verbose=0, allow_writing_files=False, thread_count=1, random_seed=0
    )
    risk = RegressionRisk(reg, regressor=LinearRegression(), cv=2, random_state=0)
    return risk.fit(X, y), X


def torch_module():
    pytest.importorskip("torch")
    from stranger_nets import Net

    from condrisk.torch import TorchRegressor

    X, y = numbers(300, 0)
    X = X.to_numpy(np.float32)
    net = TorchRegressor(Net, module_params={"width": 3}, epochs=2, device="cpu", random_state=0)
    risk = RegressionRisk(net, regressor=LinearRegression(), cv=2, random_state=0)
    return Deferral(risk, cost=1.0).fit(X, y), X


def stranger():
    X, y = numbers(300, 0)
    return Deferral(StrangerRisk(), cost=1.0).fit(X, y), X


CASES = {
    "lightgbm": (lightgbm_in_risk_control, "lightgbm", None),
    "catboost": (catboost_in_regression, "catboost", None),
    "torch": (torch_module, "stranger_nets.Net", "TorchRegressor"),
    "stranger": (stranger, "strangers.StrangerRisk", "StrangerRisk"),
}


class Case:
    """A model, its file, and new rows in a CSV file with their targets."""

    def __init__(self, name, folder):
        make, self.trust, self.no_onnx = CASES[name]
        self.model, train = make()
        self.path, self.folder, self.name = folder / "model.skops", folder, name
        self.classes = name == "lightgbm"
        self.X, self.y = self.rows(400, 1)
        held = self.rows(400, 2)
        save_model(self.model, self.path, schema=train, target="y", reference=held)
        self.table = folder / "new.csv"
        self.frame().to_csv(self.table, index=False)
        self.cost = 1.0 if name == "catboost" else None  # a risk estimator has no cost of its own

    def rows(self, n, seed):
        if self.classes:
            return frame(n, seed, classes=True)
        X, y = numbers(n, seed)
        return (X.to_numpy(np.float32), y) if self.name == "torch" else (X, y)

    def frame(self):
        X = self.X
        if not isinstance(X, pd.DataFrame):
            X = pd.DataFrame(X, columns=["x0", "x1"])
        return X.assign(y=self.y)

    @property
    def asked(self):
        return [] if self.cost is None else ["--cost", str(self.cost)]

    def deferred(self):
        """Return what Python says: prediction, risk, decision."""
        risk = self.model.predict_risk(self.X)
        if self.cost is not None:
            return self.model.predict(self.X), risk, risk > self.cost
        found = self.model.decide(self.X)
        return found.prediction, found.risk, found.deferred


@pytest.fixture(scope="module", params=list(CASES))
def case(request, tmp_path_factory):
    return Case(request.param, tmp_path_factory.mktemp(request.param))


def run(*arguments):
    return CliRunner().invoke(app, [str(part) for part in arguments], env={"COLUMNS": "200"})


def test_a_file_is_refused_untrusted_and_says_what_to_trust(case):
    with pytest.raises(ModelFileError, match="which is not on the list") as caught:
        load_model(case.path)
    assert f"--trust {case.trust}" in str(caught.value)
    again = load_model(case.path, trusted=[case.trust])
    assert_array_equal(again.predict_risk(case.X), case.model.predict_risk(case.X))
    refused = run("score", case.path, case.table, "-o", case.folder / "no.csv", *case.asked)
    assert refused.exit_code == 2
    assert f"--trust {case.trust}" in " ".join(refused.output.split())


def test_inspect_needs_no_trust(case):
    result = run("inspect", case.path)
    assert result.exit_code == 0
    assert f"--trust {case.trust}" in result.stdout
    assert type(case.model).__name__ == "Deferral" or "none: a risk estimator" in result.stdout
    assert "Measured on 400 rows" in result.stdout


def test_score_equals_python(case):
    output = case.folder / "scored.csv"
    arguments = ("-o", output, "--overwrite", "--trust", case.trust, *case.asked)
    result = run("score", case.path, case.table, *arguments)
    assert result.exit_code == 0, result.output
    found = pd.read_csv(output)
    prediction, risk, deferred = case.deferred()
    assert_allclose(found["risk"], risk, rtol=1e-6)
    assert_array_equal(found["defer"], deferred)
    if case.classes:
        assert_array_equal(found["prediction"], prediction)
    else:
        assert_allclose(found["prediction"], prediction, rtol=1e-5)
    direct = case.folder / "direct.csv"
    train = case.rows(300, 0)[0]
    score_file(case.model, case.table, direct, cost=case.cost, schema=train, overwrite=True)
    assert_allclose(pd.read_csv(direct)["risk"], found["risk"], rtol=1e-12)


def test_report_measures_the_model(case):
    page = case.folder / "report.html"
    result = run("report", case.path, case.table, "-o", page, "--json", "--trust", case.trust)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    loss = np.mean(case.model.loss_values(case.X, case.y))
    assert said["never"] == pytest.approx(loss, rel=1e-5)
    direct = build_report(case.model, case.X, case.y)
    assert direct.mean_loss == pytest.approx(loss, rel=1e-5)
    assert "<html" in page.read_text()
    done = run("report", case.path, "-o", page, "--overwrite")  # from the file's own figures
    assert done.exit_code == 0, done.output


def test_the_service_decides_as_python_does(case):
    _, risk, deferred = case.deferred()
    rows = json.loads(case.frame().drop(columns="y").head(50).to_json(orient="records"))
    for served in (
        create_app(case.path, trusted=[case.trust]),
        create_app(case.model, schema=case.rows(300, 0)[0]),
    ):
        found = scored_by_service(served, rows, cost=case.cost)
        assert_allclose([row["risk"] for row in found], risk[:50], rtol=1e-5)
        assert_array_equal([row["defer"] for row in found], deferred[:50])


def test_monitor_expects_the_mean_risk(case):
    output = case.folder / "watched"
    arguments = ("--rows", 200, "-o", output, "--json", "--trust", case.trust)
    result = run("monitor", case.path, case.table, *arguments)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)["chunks"]
    risk = case.model.predict_risk(case.X)
    loss = case.model.loss_values(case.X, case.y)
    assert_allclose([c["expected"]["risk"] for c in said], [risk[:200].mean(), risk[200:].mean()])
    assert_allclose(
        [c["realised"] for c in said], [loss[:200].mean(), loss[200:].mean()], rtol=1e-5
    )
    chunks = [(case.X[:200], case.y[:200]), (case.X[200:], case.y[200:])]
    direct = monitor(case.model, chunks, rows=200, reference=case.rows(400, 2))
    assert [c.realised for c in direct.chunks] == pytest.approx([c["realised"] for c in said])


def test_export_gives_the_same_numbers_or_the_reason(case):
    pytest.importorskip("onnxruntime")
    output = case.folder / "model.onnx"
    arguments = ("-o", output, "--trust", case.trust)
    result = run("export", case.path, *arguments)
    text = " ".join(result.output.split())
    if case.name == "catboost":  # a risk estimator has nothing to decide by
        assert result.exit_code == 2
        assert "cost" in text
    elif case.no_onnx is None:
        assert result.exit_code == 0, result.output
        assert output.stat().st_size > 0
    else:
        assert result.exit_code == 2
        assert case.no_onnx in text
        assert not output.exists()


def test_a_file_without_reference_rows_asks_for_them(case):
    path = case.folder / "bare.skops"
    save_model(case.model, path, schema=case.rows(300, 0)[0], target="y")
    assert read_manifest(path)["evaluation"] is None
    trust = ("--trust", case.trust)
    assert "No figures" in run("inspect", path).stdout
    refused = run("report", path, "-o", case.folder / "r.html")
    assert refused.exit_code == 2
    assert "rows whose target is known" in " ".join(refused.output.split())
    refused = run("monitor", path, case.table, "-o", case.folder / "w", *trust)
    assert refused.exit_code == 2
    assert "--reference" in refused.output
    given = ("--reference", case.table, "-o", case.folder / "w")
    assert run("monitor", path, case.table, *given, *trust).exit_code == 0
