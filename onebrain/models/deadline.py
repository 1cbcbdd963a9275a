"""Run a slow call with a hard time limit, one at a time: what overruns is told to stop, and nothing new starts until it has."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Event, Lock, Thread

from onebrain.models.ports import WriterUnavailable


class Deadline:
    """`run` returns within its limit. Python can't kill a thread, so an overrun call keeps its place until it notices `stop`."""

    def __init__(self) -> None:
        self._busy = Lock()

    def run(self, call: Callable[[Event], str], timeout_s: float) -> str:
        """The result of `call(stop)`. Raises WriterUnavailable when it overruns or an earlier one still does, else what `call` raises."""
        if not self._busy.acquire(blocking=False):
            raise WriterUnavailable("an earlier text is still being written")
        stop = Event()
        result: Future[str] = Future()

        def work() -> None:
            try:
                result.set_result(call(stop))
            except BaseException as error:
                result.set_exception(error)
            finally:
                self._busy.release()

        Thread(target=work, name="writer", daemon=True).start()
        try:
            return result.result(timeout_s)
        except TimeoutError:
            stop.set()
            raise WriterUnavailable(f"nothing was written within {timeout_s:g} s") from None
