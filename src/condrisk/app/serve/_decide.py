"""``POST /decide``: from the bytes of a request to the bytes of its answer.

It is plain ASGI rather than a function of a request: with one row a request, what stands between
the socket and the model is most of the work.
"""

from __future__ import annotations

import asyncio
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs

from condrisk.app._dtypes import MAX_NUMBER
from condrisk.app.models import TableModel
from condrisk.app.serve._arrow_rows import read_arrow
from condrisk.app.serve._batcher import Batcher
from condrisk.app.serve._body import TOGETHER, BodyRoom, read_body
from condrisk.app.serve._decider import Decided, Decider, Job
from condrisk.app.serve._json import JSON, encode
from condrisk.app.serve._json_rows import JsonReader
from condrisk.app.serve._metrics import Metrics
from condrisk.app.serve._refusal import RefusedError, bad_rows
from condrisk.app.serve._responses import body_type, encode_response, response_type
from condrisk.app.tables import TableError, check_rows

# A batch of that many rows is as fast a row as any; more would make the others wait.
BATCH_ROWS = 4096
# Longer bodies are read in a thread, and longer answers written in it, so that short requests need
# not wait for them. It is one thread: several would keep Python's lock from the others in turns.
LONG_BODY = 1 << 16
LONG_ANSWER = 1000
_LOG = logging.getLogger(__name__)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


class Decide:
    """The endpoint, an ASGI application.

    Parameters
    ----------
    model : TableModel
        The model.
    max_body, max_rows : int
        The longest body in bytes, and the most rows in it.
    timeout : float
        Seconds that a request has.
    batching : bool
        Whether requests that wait are decided together.
    metrics : Metrics
        Where rows are counted.
    defer_outside : bool, default=False
        Whether rows outside what was seen when fitting are deferred.

    Attributes
    ----------
    batcher : Batcher
        Who does the work.
    """

    def __init__(
        self,
        model: TableModel,
        *,
        max_body: int,
        max_rows: int,
        timeout: float,
        batching: bool,
        metrics: Metrics,
        defer_outside: bool = False,
    ) -> None:
        self._model = model
        self._max_body = max_body
        self._room = BodyRoom(TOGETHER * max_body)
        self._thread: ThreadPoolExecutor | None = None
        self._max_rows = max_rows
        self._timeout = timeout
        self._metrics = metrics
        self._reader = JsonReader(
            model.schema.needed, most_rows=max_rows, on_unseen=metrics.unseen.inc
        )
        decider = Decider(model, metrics=metrics, defer_outside=defer_outside)
        self.batcher: Batcher[Job, Decided] = Batcher(
            decider,
            most_rows=BATCH_ROWS,
            most_waiting=4 * max_rows,
            batching=batching,
            at_once=self._rows_at_once(decider),
        )

    def start(self) -> None:
        """Start to work; to be called inside the event loop."""
        self.batcher.start()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="condrisk-read")

    async def stop(self) -> None:
        """Finish what is there."""
        await self.batcher.stop()
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
            self._thread = None

    def _rows_at_once(self, decider: Decider) -> int:
        try:
            (example,) = self._reader.read(encode({"rows": [self._model.schema.example]})).rows
        except RefusedError:
            return 0
        return decider.rows_at_once(example)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        try:
            body, kind = await self._respond(scope, receive)
        except Exception as error:
            await self._refusal(error).response()(scope, receive, send)
            return
        head = [
            (b"content-type", kind.encode()),
            (b"content-length", str(len(body)).encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, error: Exception) -> RefusedError:
        if not isinstance(error, RefusedError):
            _LOG.error("A request to /decide failed.", exc_info=error)
            return RefusedError(500, "The model failed; the log of the service says how.")
        if error.rows:
            self._metrics.refused.inc(len(error.rows))
        return error

    async def _respond(self, scope: Any, receive: Any) -> tuple[bytes, str]:
        """Return the body of the answer and its kind."""
        headers = dict(scope["headers"])
        kind = body_type(headers.get(b"content-type", b""))
        wanted = response_type(headers.get(b"accept", b""), kind)
        reading = True
        with self._room.place() as place:
            try:
                async with asyncio.timeout(self._timeout):
                    body = await read_body(receive, headers, self._max_body, place)
                    reading = False
                    job = await self._job(body, kind, scope["query_string"])
                    decided = None
                    if len(job.rows):
                        decided = await self.batcher.submit(job, len(job.rows))
            except TimeoutError:
                raise self._too_late(reading) from None
            return await self._encoded(decided, wanted), wanted

    async def _encoded(self, decided: Decided | None, wanted: str) -> bytes:
        if decided is None or len(decided.risk) <= LONG_ANSWER:
            return encode_response(decided, wanted)
        return await self._in_thread(encode_response, decided, wanted)

    async def _in_thread(self, work: Any, *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)

    def _too_late(self, reading: bool) -> RefusedError:
        if reading:
            message = f"The body did not arrive within {self._timeout:g} seconds."
            return RefusedError(408, message, headers={"Connection": "close"})
        return RefusedError(
            504, f"The decision took more than {self._timeout:g} seconds; send fewer rows."
        )

    # -- what is asked ------------------------------------------------------------------------

    async def _job(self, body: bytes, kind: str, query: bytes) -> Job:
        in_query = self._cost(_cost_in(query)) if query else None
        read = self._from_json if kind == JSON else self._from_arrow
        if len(body) > LONG_BODY:
            job = await self._in_thread(read, body)
        else:
            job = read(body)
        if job.cost is not None or not self._model.uses_cost:
            return job
        if in_query is None and self._model.cost is None:
            raise RefusedError(
                422, "cost must be given with each request: the model has none of its own."
            )
        return job._replace(cost=in_query)

    def _from_json(self, body: bytes) -> Job:
        asked = self._reader.read(body)
        if "parts" in asked.extras or "probabilities" in asked.extras:
            self._check_extras(asked.extras)
        return Job(asked.rows, self._cost(asked.cost), asked.unseen, asked.extras)

    def _check_extras(self, extras: tuple[str, ...]) -> None:
        try:
            if "parts" in extras:
                self._model.check_parts()
            if "probabilities" in extras:
                self._model.check_probabilities()
        except TableError as error:
            raise RefusedError(422, str(error)) from None

    def _from_arrow(self, body: bytes) -> Job:
        frame = read_arrow(body, self._max_rows)
        try:
            checked = check_rows(self._model.schema, frame)
        except TableError as error:
            raise RefusedError(422, str(error)) from None
        if checked.bad:
            raise bad_rows(checked.bad)
        for count in checked.unseen.values():
            self._metrics.unseen.inc(count)
        return Job(checked.good, None, self._model.unseen(frame, checked))

    def _cost(self, cost: Any) -> float | None:
        """Return the cost that a request gives, None for the model's own."""
        if cost is None:
            return None
        if not self._model.uses_cost:
            raise RefusedError(422, "cost must not be given: the model's rule uses none.")
        if type(cost) not in (int, float) or not 0 <= cost <= MAX_NUMBER:
            raise RefusedError(422, f"cost must be a number from 0 to {MAX_NUMBER:g}.")
        return float(cost)


def _cost_in(query: bytes) -> Any:
    """Return the cost in a query as the number that it is in JSON, or as it stands."""
    found = parse_qs(query.decode("latin-1"), keep_blank_values=True).get("cost")
    if found is None:
        return None
    return float(found[-1]) if _NUMBER.fullmatch(found[-1]) else found[-1]
