"""The steps of training: one after another, on a GPU replayed from a CUDA graph."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from condrisk.torch._forward import outputs_of
from condrisk.torch._images import InputSpec, crop_and_flip, cut_out, largest_shift, prepare
from condrisk.torch._random import RandomNumbers
from condrisk.torch._recipe import Recipe

Objective = Callable[[Tensor, Tensor], Tensor]

# Runs before the capture, in which libraries choose algorithms and the optimiser makes its state.
WARM_UP_RUNS = 3
# Fewer steps than this do not repay the capture.
FEWEST_STEPS = 20


class TrainingRows(NamedTuple):
    """Images, (n, height, width, channels), or rows, with targets and weights, on the device."""

    pixels: Tensor
    targets: Tensor
    weights: Tensor


class CapturedFunction:
    """A function without arguments that runs on the device alone, and many times.

    On a GPU the first runs are plain ones on a side stream, as CUDA graphs want it; then one run
    is captured, and from there on the host only asks for the whole of it again. All runs do their
    work: what is captured is not executed by that, so nothing has to be undone. Plain runs draw
    their random numbers in turn with other threads; replays need not wait for any.

    Parameters
    ----------
    function : callable
        It reads and writes tensors that stay where they are, and never asks for a value.
    device : torch.device
        Where it runs.
    n_runs : int
        How often it will run at most.
    numbers : RandomNumbers
        What it draws.
    """

    def __init__(
        self,
        function: Callable[[], None],
        device: torch.device,
        n_runs: int,
        numbers: RandomNumbers,
    ) -> None:
        self._function = function
        self._numbers = numbers
        self._graph: Any = None
        self._plain = device.type != "cuda" or n_runs < FEWEST_STEPS
        self._n_runs = 0
        self._side = None if self._plain else torch.cuda.Stream(device)

    @property
    def is_captured(self) -> bool:
        """Whether runs are replays of a CUDA graph."""
        return self._graph is not None

    def __call__(self) -> None:
        """Run it, or ask the GPU to."""
        if self._graph is None and not self._plain and self._n_runs >= WARM_UP_RUNS:
            with self._numbers:
                self._capture()
        if self._graph is not None:
            self._graph.replay()
            return
        with self._numbers:
            if self._plain:
                self._function()
            else:
                self._warm_up()

    def _warm_up(self) -> None:
        assert self._side is not None
        self._side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._side):
            self._function()
        torch.cuda.current_stream().wait_stream(self._side)
        self._n_runs += 1

    def _capture(self) -> None:
        graph = torch.cuda.CUDAGraph()
        try:
            # What other threads ask of the GPU meanwhile is none of this graph's business.
            with torch.cuda.graph(graph, stream=self._side, capture_error_mode="thread_local"):
                self._function()
        except RuntimeError as error:
            self._plain = True
            warnings.warn(
                f"a training step could not be captured in a CUDA graph ({error}); training goes "
                f"on step by step, which is slower.",
                RuntimeWarning,
                stacklevel=2,
            )
        else:
            self._graph = graph


class Steps:
    """The steps that train a network, with all that they read and write on the device.

    Parameters
    ----------
    net : torch.nn.Module
        The network, on the device. It is trained in place.
    rows : TrainingRows
        What to train on.
    spec : InputSpec
        What the network takes.
    objective : callable
        The loss of each row, from outputs and targets.
    recipe : Recipe
        How to train.
    numbers : RandomNumbers
        What the network draws, for dropout and the like.
    """

    def __init__(
        self,
        net: Any,
        rows: TrainingRows,
        spec: InputSpec,
        objective: Objective,
        recipe: Recipe,
        numbers: RandomNumbers,
    ) -> None:
        self.net, self.rows, self.spec = net, rows, spec
        self.objective, self.recipe = objective, recipe
        device = rows.pixels.device
        n_rows = len(rows.pixels)
        # All batches have one size, as a CUDA graph wants it; which rows are left over varies.
        self.batch = min(recipe.batch_size, n_rows)
        self.n_steps = n_rows // self.batch
        self.averaged = None if recipe.ema is None else copy.deepcopy(net).eval()
        self._live, self._average = _float_tensors(net), _float_tensors(self.averaged)
        self._generator = torch.Generator(device).manual_seed(recipe.seed)
        n_columns = 6 if rows.pixels.ndim == 4 else 1
        plan = (self.n_steps, n_columns, self.batch)
        self._plan = torch.zeros(plan, dtype=torch.long, device=device)
        self._controls = torch.zeros(self.n_steps, 2, device=device)
        self._cursor = torch.zeros(1, dtype=torch.long, device=device)
        self._total = torch.zeros((), device=device)
        self._rate = torch.zeros((), device=device)
        self._optimizer = torch.optim.AdamW(
            net.parameters(),
            lr=self._rate,
            weight_decay=recipe.weight_decay,
            fused=True,
            capturable=device.type == "cuda",
        )
        self.run = CapturedFunction(self._step, device, recipe.epochs * self.n_steps, numbers)

    def epoch(self, controls: NDArray[Any]) -> float:
        """Go through the rows once and return the mean loss; the host waits at the end only."""
        self._plan.copy_(self._new_plan())
        self._controls.copy_(torch.from_numpy(controls))
        self._cursor.zero_()
        self._total.zero_()
        self.net.train()
        for _ in range(self.n_steps):
            self.run()
        return float(self._total) / self.n_steps

    def trained(self) -> Any:
        """Return the network to validate and to keep: the average if there is one."""
        return self.net.eval() if self.averaged is None else self.averaged

    def close(self) -> None:
        """Let go of the CUDA graph, and so of the device's memory, without waiting for gc."""
        del self.run

    def _new_plan(self) -> Tensor:
        """Draw the row and, for images, how it is augmented, for each place of the batches."""
        size = self.n_steps * self.batch
        n_rows, device = len(self.rows.pixels), self._plan.device
        order = torch.randperm(n_rows, generator=self._generator, device=device)
        columns = [order[:size]]
        if self.rows.pixels.ndim == 4:
            columns += self._augmentation(size)
        return torch.stack(columns).view(-1, self.n_steps, self.batch).transpose(0, 1)

    def _augmentation(self, size: int) -> list[Tensor]:
        """Draw moves, flip and the middle of a blank square."""

        def draw(low: int, high: int) -> Tensor:
            return torch.randint(
                low, high, (size,), generator=self._generator, device=self._plan.device
            )

        shifts = largest_shift(self.rows.pixels) if self.recipe.crops else (0, 0)
        return [
            *(draw(-far, far + 1) for far in shifts),
            draw(0, 1 + self.recipe.flips),
            *(draw(0, length) for length in self.rows.pixels.shape[1:3]),
        ]

    def _augmented(self, picked: Tensor, moves: list[Tensor]) -> Tensor:
        down, right, flip, row, column = moves
        pixels = crop_and_flip(self.rows.pixels, picked, down, right, flip)
        if not self.recipe.cutout:
            return pixels
        return cut_out(pixels, row, column, self.recipe.cutout, self.spec.mean)

    def _step(self) -> None:
        picked, *moves = self._plan.index_select(0, self._cursor)[0]
        rate, share = self._controls.index_select(0, self._cursor)[0]
        self._rate.copy_(rate)
        pixels = self._augmented(picked, moves) if moves else self.rows.pixels[picked]
        outputs = outputs_of(self.net, prepare(pixels, self.spec))
        losses = self.objective(outputs, self.rows.targets[picked])
        loss = (losses * self.rows.weights[picked]).mean()
        # Gradients that are None are written by backward, not added to: so a replay needs no zeros.
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()
        if self.averaged is not None:
            self._update_average(share)
        self._total.add_(loss.detach())
        self._cursor.add_(1)

    @torch.no_grad()
    def _update_average(self, share: Tensor) -> None:
        difference = torch._foreach_sub(self._live, self._average)
        torch._foreach_mul_(difference, share)
        torch._foreach_add_(self._average, difference)


def _float_tensors(net: Any) -> list[Tensor]:
    """Return parameters and running statistics, which are the numbers that can be averaged."""
    if net is None:
        return []
    tensors = (*net.parameters(), *net.buffers())
    return [tensor.detach() for tensor in tensors if tensor.is_floating_point()]
