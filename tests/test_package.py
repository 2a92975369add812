"""The package as a whole: what it exports, what it loads, and that its README is true."""

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.build_docs import pages
from tools.update_readme import updated

import condrisk
from condrisk.reproduce.rwr import _methods

ROOT = Path(__file__).parent.parent

PUBLIC = {
    "condrisk": [
        "AutoRisk",
        "BudgetRule",
        "CostRule",
        "Decision",
        "Deferral",
        "ExpertRule",
        "HybridRisk",
        "PlugInRisk",
        "RegressionRisk",
        "RiskControlRule",
        "huber",
        "make_loss",
        "pinball",
        "predict_risk",
    ],
    "condrisk.active": [
        "GainSampler",
        "RiskParts",
        "RiskQueryStrategy",
        "RiskSampler",
        "k_center",
        "split_risk",
    ],
    "condrisk.baselines": ["KernelRejector", "NetRegressor", "SelectiveNet"],
    "condrisk.datasets": [
        "CIFAR10",
        "UCI_NAMES",
        "ClassificationWorld",
        "RegressionWorld",
        "load_cifar10",
        "load_uci",
        "make_gaussian_mixture",
        "make_heteroscedastic",
        "make_hidden_noise",
        "make_separable",
    ],
    "condrisk.deferral": [
        "BudgetRule",
        "Cascade",
        "CascadeDecision",
        "CostRule",
        "Decision",
        "Deferral",
        "ExpertRisk",
        "ExpertRule",
        "ExpertStream",
        "ExploringRule",
        "RateControlRule",
        "RiskControlRule",
        "SupportRule",
        "denoised_risk",
    ],
    "condrisk.losses": [
        "LOG_LOSS_FLOOR",
        "LOSSES",
        "ClassLoss",
        "CostMatrix",
        "Loss",
        "absolute_error",
        "brier",
        "encode",
        "get_loss",
        "huber",
        "log_loss",
        "make_loss",
        "pinball",
        "squared_error",
        "zero_one",
    ],
    "condrisk.metrics": [
        "CostCurve",
        "RiskCalibrationCurve",
        "RiskCoverageCurve",
        "aurc",
        "cost_curve",
        "deferral_loss",
        "deferral_rate",
        "excess_aurc",
        "risk_calibration_curve",
        "risk_calibration_error",
        "risk_coverage_curve",
        "risk_error",
        "risk_scorer",
    ],
    "condrisk.plots": [
        "CostCurveDisplay",
        "RiskCalibrationDisplay",
        "RiskCoverageDisplay",
        "RiskProfileDisplay",
    ],
    "condrisk.reproduce": [
        "CorruptRecordError",
        "PaperSplit",
        "RwRConfig",
        "read_records",
        "register_method",
        "run_rwr",
        "unregister_method",
    ],
    "condrisk.risk": [
        "AutoRisk",
        "BaseRisk",
        "DistanceSupport",
        "ForestSupport",
        "HybridRisk",
        "LockstepMLPRegressor",
        "LossRegressor",
        "PlugInRisk",
        "RegressionRisk",
        "ShiftWeights",
        "StackedClassifier",
        "StackedRegressor",
        "effective_sample_size",
        "feedback_weights",
        "loss_values",
        "predict_risk",
        "refit_risk",
    ],
    "condrisk.export": ["ExportError", "OnnxCheck", "check_onnx", "save_mlflow", "to_onnx"],
    "condrisk.models": [
        "ModelFileError",
        "PREDICTORS",
        "TableModel",
        "fit_table",
        "load_model",
        "read_manifest",
        "save_model",
    ],
    "condrisk.monitor": [
        "Chunk",
        "ChunkReport",
        "ExpectedLoss",
        "LossAlarm",
        "MeanLossRegressor",
        "Monitoring",
        "Reference",
        "chunks_by_rows",
        "chunks_by_time",
        "expected_loss",
        "loss_alarm",
        "monitor_table",
    ],
    "condrisk.report": [
        "Figures",
        "Panel",
        "Report",
        "build_report",
        "render",
        "report_from_arrays",
        "report_from_manifest",
    ],
    "condrisk.scoring": ["ScoreSummary", "score_dask", "score_file"],
    "condrisk.serve": ["create_app", "listen", "run"],
    "condrisk.tables": [
        "Checked",
        "Column",
        "Schema",
        "SchemaError",
        "TableError",
        "TableWriter",
        "iter_batches",
        "left_out",
        "read_table",
        "table_format",
    ],
    "condrisk.theory": [
        "COUNTEREXAMPLES",
        "Bound",
        "CantorRows",
        "Complexity",
        "Counterexample",
        "CounterexampleResult",
        "LipschitzRegressor",
        "LowerBound",
        "MeanInterval",
        "RealizabilityGap",
        "RiskErrorInterval",
        "SeparableResult",
        "as_printed",
        "average_complexity",
        "best_lipschitz_error",
        "best_lipschitz_regressor",
        "betting_interval",
        "betting_p_value",
        "brier_probability_bound",
        "constant_complexity",
        "cross_entropy_kl_bound",
        "distance_regressor_error",
        "distance_to_fat_cantor",
        "empirical_bernstein_interval",
        "fat_cantor_intervals",
        "fat_cantor_measure",
        "finite_complexity",
        "greedy_tree_complexity",
        "in_fat_cantor",
        "kernel_ball_bound",
        "linear_bound",
        "linear_complexity",
        "massart_bound",
        "network_bound",
        "plug_in_bound",
        "plug_in_cross_entropy_bound",
        "plug_in_kl_bound",
        "plug_in_lipschitz_bound",
        "plug_in_matched_bound",
        "realised_absolute_bound",
        "realizability_gap",
        "rejection_bound",
        "restricted_rejection_bound",
        "risk_error_interval",
        "sample_cantor_world",
        "sample_size",
        "separable_bound",
        "separable_experiment",
        "simulate_counterexample",
        "squared_error_bound",
        "stump_bound",
        "stump_complexity",
        "sum_complexities",
    ],
    "condrisk.theory.as_printed": [
        "proposition_1",
        "proposition_3",
        "proposition_3_regression",
        "rejection_bound",
        "theorem_1_l1_distance",
        "theorem_1_line_1",
        "theorem_1_line_2",
    ],
    "condrisk.vision": [
        "Embedder",
        "TorchClassifier",
        "TorchRegressor",
        "create_model",
        "list_models",
        "register_model",
    ],
}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_pinned_and_there(name):
    module = importlib.import_module(name)
    assert sorted(module.__all__) == sorted(PUBLIC[name])
    assert all(hasattr(module, public) for public in module.__all__)


def loaded_by(statement):
    """Return the modules that a fresh interpreter has loaded after the statement."""
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_nothing_that_scikit_learn_does_not():
    ours = loaded_by("import condrisk")
    theirs = loaded_by("import sklearn.ensemble")
    standard = set(sys.stdlib_module_names)
    extra = {
        name
        for name in ours - theirs
        if name.split(".")[0] not in standard | {"condrisk"}
        # what the installation itself brings into every interpreter
        and not name.startswith(("_virtualenv", "__editable__"))
    }
    assert not extra


def test_every_module_imports_by_itself():
    names = [m.name for m in pkgutil.walk_packages(condrisk.__path__, "condrisk.")]
    code = "import importlib, sys; [importlib.import_module(n) for n in sys.argv[1:]]"
    subprocess.run([sys.executable, "-W", "error", "-c", code, *names], check=True)


def readme_blocks():
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def test_readme_has_code():
    assert len(readme_blocks()) >= 3


def test_readme_code_runs(tmp_path, monkeypatch):
    """The blocks are one session, in the order of the page."""
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_methods, "_registered", dict(_methods._registered))
    session = {}
    for number, block in enumerate(readme_blocks()):
        exec(compile(block, f"README block {number}", "exec"), session)


def test_readme_figures_are_those_of_the_records():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert updated(text) == text


def test_pages_are_those_of_the_records():
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, path


@pytest.mark.parametrize("room", ["condrisk", "condrisk.risk", "condrisk.deferral"])
def test_names_that_are_imported_late_are_listed_and_others_are_refused(room):
    code = (
        f"import {room} as room; names = dir(room); "
        f"assert set(names) == set(room.__all__); [getattr(room, name) for name in names]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        importlib.import_module(room).Nonsense  # noqa: B018


def test_version_has_an_entry_in_the_changelog():
    assert f"## {condrisk.__version__}" in (ROOT / "CHANGELOG.md").read_text()
