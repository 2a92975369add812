"""One worker that decides for everybody who is waiting, in one go."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from time import perf_counter
from typing import Generic, TypeVar

from threadpoolctl import threadpool_limits

from condrisk.app.serve._refusal import RefusedError

Job = TypeVar("Job")
Result = TypeVar("Result")

# After a batch of several requests the next one waits for those who were just answered, at most
# this share of the time that the batch took, or so many seconds. Otherwise the quickest of them
# would be computed alone while the others wait, and half of the gain is lost.
MAX_WAIT_SHARE = 0.25
MAX_WAIT_SECONDS = 0.001


class _Waiting(Generic[Job, Result]):
    __slots__ = ("future", "job", "size")

    def __init__(self, job: Job, size: int, future: asyncio.Future[Result]) -> None:
        self.job = job
        self.size = size
        self.future = future


class Batcher(Generic[Job, Result]):
    """Collect the jobs that come in while a batch is being computed; compute them together next.

    A lone job starts at once: nothing waits for company that may not come. A job that fails takes
    nobody along: its batch is computed again one by one.

    Parameters
    ----------
    compute : callable
        From a list of jobs to the list of their results; a result that is an exception is raised
        in its own request. It runs in the one thread of the batcher.
    most_rows : int
        A batch takes no further job once it has that many rows.
    most_waiting : int
        Rows that may wait; a job beyond them is refused with status 503.
    batching : bool, default=True
        False computes each job alone, in the order of arrival.
    at_once : int, default=0
        Up to that many rows are computed in the event loop instead, because that takes no longer
        than to wake a thread.
    """

    def __init__(
        self,
        compute: Callable[[list[Job]], Sequence[Result | BaseException]],
        *,
        most_rows: int,
        most_waiting: int,
        batching: bool = True,
        at_once: int = 0,
    ) -> None:
        self._compute = compute
        self._at_once = at_once
        self._most_rows = most_rows if batching else 0
        self._most_waiting = most_waiting
        self._waiting: deque[_Waiting[Job, Result]] = deque()
        self._batches: SimpleQueue[list[_Waiting[Job, Result]] | None] = SimpleQueue()
        self._busy = False
        self._timer: asyncio.Handle | None = None
        self._expected = 0
        self._thread: threading.Thread | None = None
        self._limits: threadpool_limits | None = None
        self._loop: asyncio.AbstractEventLoop
        self.rows_waiting = 0

    def start(self) -> None:
        """Start the thread; to be called inside the event loop."""
        self._loop = asyncio.get_running_loop()
        if self._at_once:
            self._limits = threadpool_limits(1)
        self._thread = threading.Thread(target=self._work, name="condrisk-decide", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Let the thread finish what it has and end it."""
        if self._thread is not None:
            self._batches.put(None)
            await asyncio.to_thread(self._thread.join)
            self._thread = None
        if self._limits is not None:
            self._limits.restore_original_limits()

    async def submit(self, job: Job, size: int) -> Result:
        """Return the answer to a job.

        Parameters
        ----------
        job : object
            What `compute` takes a list of.
        size : int
            Its number of rows.

        Returns
        -------
        object
            What `compute` gave for it.
        """
        if self._thread is None:
            raise RefusedError(503, "The service is stopping.")
        if self._waiting and self.rows_waiting + size > self._most_waiting:
            raise RefusedError(
                503,
                f"{self.rows_waiting} rows are waiting already; try again in a moment.",
                headers={"Retry-After": "1"},
            )
        item: _Waiting[Job, Result] = _Waiting(job, size, self._loop.create_future())
        self._waiting.append(item)
        self.rows_waiting += size
        if not self._busy:
            if self._timer is None:
                # Not now but when the loop has heard everybody who has already called.
                self._timer = self._loop.call_soon(self._next)
            elif self._expected and len(self._waiting) >= self._expected:
                self._timer.cancel()
                self._expected = 0
                self._timer = self._loop.call_soon(self._next)
        return await item.future

    # -- in the event loop ------------------------------------------------------------------

    def _next(self) -> None:
        """Give the thread its next batch."""
        self._timer, self._expected = None, 0
        batch: list[_Waiting[Job, Result]] = []
        rows = 0
        while self._waiting and (not batch or rows + self._waiting[0].size <= self._most_rows):
            item = self._waiting.popleft()
            self.rows_waiting -= item.size
            if not item.future.done():  # given up, such as after its time was over
                batch.append(item)
                rows += item.size
        if not batch:
            return
        self._busy = True
        if rows <= self._at_once:
            self._done(batch, *self._computed(batch))
        else:
            self._batches.put(batch)

    def _done(
        self,
        batch: list[_Waiting[Job, Result]],
        results: Sequence[Result | BaseException],
        seconds: float,
    ) -> None:
        """Hand out the results and go on."""
        self._busy = False
        for item, result in zip(batch, results, strict=True):
            if item.future.done():
                continue
            if isinstance(result, BaseException):
                item.future.set_exception(result)
            else:
                item.future.set_result(result)
        if len(batch) > 1:
            self._expected = len(batch) + len(self._waiting)
            wait = max(MAX_WAIT_SHARE * seconds, MAX_WAIT_SECONDS)
            self._timer = self._loop.call_later(wait, self._next)
        elif self._waiting:
            self._timer = self._loop.call_soon(self._next)

    # -- in the thread ----------------------------------------------------------------------

    def _work(self) -> None:
        # Small batches gain nothing from several threads, and lose much where cores are busy.
        with threadpool_limits(1):
            while (batch := self._batches.get()) is not None:
                self._loop.call_soon_threadsafe(self._done, batch, *self._computed(batch))

    # -- in either --------------------------------------------------------------------------

    def _computed(
        self, batch: list[_Waiting[Job, Result]]
    ) -> tuple[Sequence[Result | BaseException], float]:
        """Return the results, and the seconds that they took."""
        began = perf_counter()
        results: Sequence[Result | BaseException]
        try:
            results = self._results([item.job for item in batch])
        except BaseException as error:  # a panic of compiled code must not end the service
            failure = RuntimeError("the computation broke off")
            failure.__cause__ = error
            results = [failure] * len(batch)
        return results, perf_counter() - began

    def _results(self, jobs: list[Job]) -> Sequence[Result | BaseException]:
        try:
            return self._compute(jobs)
        except Exception as error:
            if len(jobs) == 1:
                return [error]
            return [self._results([job])[0] for job in jobs]
