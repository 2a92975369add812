"""Reading in a thread of its own, a little ahead of who needs it."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")
_END = object()


def read_ahead(items: Iterable[T], *, most: int = 2) -> Generator[T, None, None]:
    """Yield the items of an iterable that another thread goes through, `most` of them ahead."""
    queue: Queue[Any] = Queue(most)
    stop = Event()

    def put(item: Any) -> None:
        while not stop.is_set():
            try:
                queue.put(item, timeout=0.1)
            except Full:
                continue
            return

    def read() -> None:
        try:
            for item in items:
                put(item)
                if stop.is_set():
                    return
            put(_END)
        except BaseException as error:
            put(error)

    reader = Thread(target=read, name="condrisk-reader", daemon=True)
    reader.start()
    try:
        while (item := queue.get()) is not _END:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        reader.join()
