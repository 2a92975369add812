"""Random numbers of one training, whatever else draws from torch's meanwhile."""

from __future__ import annotations

import threading
from typing import Any, Self

import torch

# Torch draws weights, dropout and the like from generators of the process, and has one set of
# flags for cuDNN: only one training at a time may have them.
_PROCESS = threading.RLock()


class RandomNumbers:
    """Random numbers for what is done within ``with numbers:``, on the CPU and on a GPU.

    Each time they go on where they were; outside, torch's own generators are as they were. So
    networks that are trained in several threads at once draw what they would draw alone. A CUDA
    graph captured within keeps these numbers, and may be replayed outside.

    Parameters
    ----------
    seed : int
        The seed of both generators.
    device : torch.device
        The CPU or a GPU.
    """

    def __init__(self, seed: int, device: torch.device) -> None:
        self._device = device
        self._host = torch.Generator().manual_seed(seed).get_state()
        self._gpu: torch.Generator | None = None
        if device.type == "cuda":
            torch.cuda.init()
            self._gpu = torch.Generator(device).manual_seed(seed)
        self._depth = 0
        self._outside: tuple[Any, Any, Any] | None = None

    def __enter__(self) -> Self:
        """Let torch draw from these numbers; other threads wait."""
        _PROCESS.acquire()
        self._depth += 1
        if self._depth == 1:
            host = torch.default_generator
            gpu = flags = None
            if self._gpu is not None:
                of_process = torch.cuda.default_generators[self._device.index]
                gpu = of_process.graphsafe_get_state()
                of_process.graphsafe_set_state(self._gpu)
                flags = torch.backends.cudnn.flags(
                    enabled=True, benchmark=False, deterministic=True
                )
                flags.__enter__()
            self._outside = host.get_state(), gpu, flags
            host.set_state(self._host)
        return self

    def __exit__(self, *error: object) -> None:
        """Give torch its own numbers back."""
        self._depth -= 1
        if self._depth == 0:
            assert self._outside is not None
            state, gpu, flags = self._outside
            self._host = torch.default_generator.get_state()
            torch.default_generator.set_state(state)
            if self._gpu is not None:
                flags.__exit__(None, None, None)
                torch.cuda.default_generators[self._device.index].graphsafe_set_state(gpu)
        _PROCESS.release()
