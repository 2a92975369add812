"""What the pairs are compared with: other people's methods and our default.

They are registered as a user's would be.
"""

from __future__ import annotations

from typing import Any

from condrisk.paper.baselines import KernelRejector, NetRegressor, SelectiveNet
from condrisk.paper.rwr._methods import SEED, PaperSplit, register_method
from condrisk.paper.rwr._results import DEFAULT
from condrisk.risk import AutoRisk

# Their networks are trained by torch.
NEED_TORCH = ("SelNet", "NN+kNNRej", "NN+kernel")


@register_method("SelNet")
def selective_net() -> Any:
    """Return SelectiveNet in its form for regression."""
    return SelectiveNet(random_state=SEED)


@register_method("NN+kNNRej")
def kernel_rejector_as_published() -> Any:
    """Return the kernel rejector that accepts where it has no data."""
    return _kernel_rejector(no_data="accept")


@register_method("NN+kernel")
def kernel_rejector() -> Any:
    """Return the kernel rejector that defers where it has no data."""
    return _kernel_rejector(no_data="defer")


@register_method(DEFAULT)
def default() -> Any:
    """Return what `AutoRisk` does when it is told nothing, its predictor included."""
    return AutoRisk(random_state=SEED)


def _kernel_rejector(no_data: Any) -> Any:
    return KernelRejector(
        NetRegressor(random_state=SEED), cv=PaperSplit(), no_data=no_data, random_state=SEED
    )
