"""Chunks on a Dask cluster: given out, waited for, and what became of them.

In: a client, the file of a function, and what is to be done with a batch. Out: a `MappedFutures`,
whose result is that of `map`. The file is the result of a task whose name has its checksum, so that
workers keep it from one map to the next; chunks are tasks with their part of the batch.

A worker that dies is Dask's affair: its tasks run again elsewhere, to the same results. An element
that fails is ours: chunks behind it are given up, those before it are waited for, as one of them
may fail, too; so the first one of the batch is told, whatever came first in time.

The trap: `distributed` is imported here only if the user has, who has made a client.
"""

import copy
import math
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from threading import Event
from typing import Any

from diastase_runtime.distributed.batches import Batch
from diastase_runtime.distributed.chunks import bounds, chunk_size
from diastase_runtime.distributed.elements import Part, Work
from diastase_runtime.distributed.errors import (
    CancelledMapError,
    ClusterLostError,
    InvalidClientError,
    LostWorkersError,
    UnfitWorkerError,
)
from diastase_runtime.distributed.fitness import check_cluster
from diastase_runtime.distributed.results import joined
from diastase_runtime.distributed.workers import MOST_FUNCTIONS, run_chunk, run_timed, shipped
from diastase_runtime.errors import DiastaseError

_PATIENCE = 0.25
"""Seconds to wait for the first element before others are given out."""
_UNTIMED = 16
"""Chunks for each thread where nothing says how long a call takes."""
_BYTES_AT_ONCE = 4_000_000
"""Of a batch, in one message to the scheduler."""

_FILES = "_diastase_files"
"""An attribute of clients: the files that the cluster has, by their checksums. They end with it."""


def check_client(client: Any) -> None:
    """Refuse what is no client that can be waited for; raises an error of ours."""
    dask = sys.modules.get("distributed")
    if dask is None or not isinstance(client, dask.Client):
        raise InvalidClientError(what=f"a {type(client).__qualname__}")
    if client.asynchronous:
        raise InvalidClientError(what="asynchronous")


@dataclass(frozen=True, repr=False)
class MappedFutures:
    """Results that are still on a cluster, or not even computed: what `map(futures=True)` gives.

    `futures` are Dask's, one for each chunk; its length is the number of chunks.

    Example:
        >>> import diastase
        >>> import distributed  # doctest: +SKIP
        >>> client = distributed.Client("tcp://scheduler:8786")  # doctest: +SKIP
        >>> mapped = diastase.distributed.map(f, xs, client=client, futures=True)  # doctest: +SKIP
        >>> mapped.result(progress=True)  # doctest: +SKIP
        >>> mapped.cancel()  # doctest: +SKIP

    """

    client: Any
    work: Work
    elements: int
    chunks: tuple[tuple[int, int], ...]
    """The first call of each chunk, and how many calls it has."""
    futures: tuple[Any, ...]
    """Dask's, one for each chunk: of a `Part`, whose `tree()` is the pytree of its results."""
    classes: Sequence[Callable[..., Any]] = ()
    """Of the named tuples of the results, as far as this process knows them."""
    is_cancelled: Event = field(default_factory=Event)
    """By `cancel`; a cluster that is closed cancels tasks, too."""

    def __len__(self) -> int:
        """How many chunks there are."""
        return len(self.futures)

    def __repr__(self) -> str:
        return f"<MappedFutures {self.work.name}: {self.elements} elements in {len(self)} chunks>"

    def cancel(self) -> None:
        """Give up what is not computed yet, and all results."""
        self.is_cancelled.set()
        self.client.cancel(list(self.futures))

    def result(self, *, progress: bool = False) -> Any:
        """Wait for all elements and fetch their results.

        Args:
            progress: shows Dask's progress bar.

        Returns:
            What `map` without `futures` gives: a pytree of NumPy's arrays with the axis of the
            batch.

        Raises:
            MappedElementError: a `RuntimeError`, with the first element for which the function
                raises.
            LostWorkersError: a `RuntimeError`, if workers died of the same elements.
            CancelledMapError: a `concurrent.futures.CancelledError`, after `cancel()`.
            ClusterLostError: a `ConnectionError`, if the cluster cannot be reached any more.

        """
        with _connection(self.client, self.work.name, self.elements):
            if progress:
                _show(self.futures)
            return joined(self.work, self._parts(), self.classes)

    def _parts(self) -> list[Part]:
        parts: dict[int, Part] = {}
        errors: dict[int, BaseException] = {}
        numbers = {future: number for number, future in enumerate(self.futures)}
        waiting = import_module("distributed").as_completed(self.futures, loop=self.client.loop)
        for batch in waiting.batches():
            good: dict[int, Any] = {}
            for future in batch:
                # Read once: it changes when a worker dies.
                number, status = numbers[future], future.status
                if status == "finished":
                    good[number] = future
                elif errors and number > min(errors):
                    continue
                elif status in ("lost", "pending") and not _trouble_of(self.client):
                    waiting.add(future)  # its result went with a worker, and is computed again
                elif status == "error":
                    errors[number] = future.exception()
                    self.client.cancel(list(self.futures[number + 1 :]))
                else:
                    raise self._lost(future)
            if not errors:
                parts.update(zip(good, self.client.gather(list(good.values())), strict=True))
        if errors:
            raise self._told(min(errors), errors[min(errors)])
        return [parts[number] for number in range(len(self.futures))]

    def _lost(self, future: Any) -> DiastaseError:
        """The error of a chunk that nobody computes any more."""
        if self.is_cancelled.is_set():
            return CancelledMapError(function=self.work.name, elements=self.elements)
        reason = _trouble_of(self.client) or f"tasks are {future.status}"
        return ClusterLostError(function=self.work.name, elements=self.elements, reason=reason)

    def _told(self, number: int, error: BaseException) -> BaseException:
        """The error of a chunk, in our words; what an element has raised is its cause."""
        name = self.work.name
        cause = getattr(error, "error", None)
        if isinstance(cause, BaseException):
            error.__cause__ = cause
        if isinstance(error, import_module("distributed").KilledWorker):
            first, count = self.chunks[number]
            ends = first // self.work.repeats, (first + count - 1) // self.work.repeats
            return LostWorkersError(function=name, first=ends[0], last=ends[1], reason=str(error))
        if isinstance(error, ImportError):
            return UnfitWorkerError(function=name, worker="a worker, or the scheduler", error=error)
        return _copied(error)


def give_out(
    client: Any,
    content: bytes,
    work: Work,
    batch: Batch,
    size: int | None,
    classes: Sequence[Callable[..., Any]],
) -> MappedFutures:
    """Make tasks of a batch, each of `size` calls, or of as many as are worth while."""
    return replace(_given_out(client, content, work, batch, size, waits=False), classes=classes)


def run_out(
    client: Any,
    content: bytes,
    work: Work,
    batch: Batch,
    size: int | None,
    classes: Sequence[Callable[..., Any]],
    *,
    progress: bool,
) -> Any:
    """The same, and the results; where that is interrupted, or fails, nothing goes on."""
    mapped = _given_out(client, content, work, batch, size, waits=True)
    mapped = replace(mapped, classes=classes)
    try:
        return mapped.result(progress=progress)
    except BaseException:
        _give_up(client, mapped.futures)
        raise


def _given_out(
    client: Any, content: bytes, work: Work, batch: Batch, size: int | None, *, waits: bool
) -> MappedFutures:
    with _connection(client, work.name, batch.length):
        check_cluster(client, work.name)
        giving = _Giving(client, content, work, batch)
        try:
            return giving.all(size, waits=waits)
        except BaseException:
            _give_up(client, giving.futures)
            raise


def _give_up(client: Any, futures: Sequence[Any]) -> None:
    if not _trouble_of(client):
        with suppress(Exception):  # the connection may be lost just now
            client.cancel(list(futures))


def _copied(error: BaseException) -> BaseException:
    """An exception to raise: what Dask keeps must not get our frames, which keep the futures."""
    try:
        copied = copy.copy(error)
    except Exception:  # of a class of somebody's that cannot be copied
        return error
    copied.__cause__ = error.__cause__
    return copied


class _Giving:
    """Gives out the chunks of one batch."""

    def __init__(self, client: Any, content: bytes, work: Work, batch: Batch) -> None:
        self._client, self._work, self._batch = client, work, batch
        self._token = os.urandom(6).hex()
        self._file = _file(client, work.checksum, content)
        self._calls = batch.length * work.repeats
        self._chunks: list[tuple[int, int]] = []
        self.futures: list[Any] = []
        """Those that there are so far."""

    def all(self, size: int | None, *, waits: bool) -> MappedFutures:
        threads = max(1, sum(self._client.nthreads().values()))
        if size is None and self._calls <= threads:
            size = 1
        if size is None:
            size = self._timed_size(threads, waits=waits)
        self._give(run_chunk, bounds(len(self._chunks), self._calls, size))
        return MappedFutures(
            self._client, self._work, self._batch.length, tuple(self._chunks), tuple(self.futures)
        )

    def _timed_size(self, threads: int, *, waits: bool) -> int:
        """Calls in a chunk, by how long the first takes, which is given out alone.

        Where that is not known soon, the call is long, or waits behind other work; nobody can tell.
        Whoever waits for the results waits for it then, while each thread has one call; else each
        thread gets some chunks.
        """
        self._give(run_timed, [(0, 1)])
        first = self.futures[0]
        if not _is_done(first, _PATIENCE):
            if not waits:
                return math.ceil(self._calls / (_UNTIMED * threads))
            self._give(run_chunk, [(call, 1) for call in range(1, threads)])
            _is_done(first, None)
        if first.status != "finished":
            return self._calls  # it has failed, and no other element will be told
        return chunk_size(self._calls, first.result().seconds, threads)

    def _give(self, run: Any, chunks: Sequence[tuple[int, int]]) -> None:
        if chunks:
            self.futures += self._tasks(run, chunks)
            self._chunks += chunks

    def _tasks(self, run: Any, chunks: Sequence[tuple[int, int]]) -> list[Any]:
        columns = [self._columns(first, count) for first, count in chunks]
        bytes_of_chunk = max(sum(column.nbytes for column in each) for each in columns)
        name = f"{self._work.name}-{self._token}"
        with _graphs_of_any_size():
            return self._client.map(
                run,
                [self._file] * len(chunks),
                [self._work] * len(chunks),
                columns,
                [first for first, _ in chunks],
                [count for _, count in chunks],
                key=[(name, first) for first, _ in chunks],  # one group, which Dask shares out
                pure=False,
                batch_size=max(1, _BYTES_AT_ONCE // max(1, bytes_of_chunk)),
            )

    def _columns(self, first: int, count: int) -> list[Any]:
        repeats = self._work.repeats
        elements = slice(first // repeats, (first + count - 1) // repeats + 1)
        return [column[elements] for column in self._batch.columns]


def _is_done(future: Any, seconds: float | None) -> bool:
    """Wait for a task, so long or without an end; whether it has ended."""
    try:
        import_module("distributed").wait(future, timeout=seconds)
    except TimeoutError:
        return False
    return True


def _file(client: Any, checksum: str, content: bytes) -> Any:
    """The task whose result is the file; one for all maps of a client."""
    known: dict[str, Any] = vars(client).setdefault(_FILES, {})
    future = known.pop(checksum, None)
    if future is None or future.status in ("cancelled", "lost", "error"):
        with _graphs_of_any_size():
            future = client.submit(shipped, content, key=f"diastase-{checksum}")
        client.replicate([future])  # or Dask would give tasks to the worker that has it
    known[checksum] = future  # those that were used last come last
    if len(known) > MOST_FUNCTIONS:
        del known[next(iter(known))]
    return future


@contextmanager
def _graphs_of_any_size() -> Generator[None]:
    """Dask warns of tasks with much data: batches and files are as large as they are."""
    threshold = "distributed.admin.large-graph-warning-threshold"
    with import_module("dask").config.set({threshold: "1TB"}):
        yield


def _show(futures: Sequence[Any]) -> None:
    """Dask's bar: in a terminal it waits for the end, in a notebook it is a widget."""
    bar = import_module("distributed").progress(list(futures))
    if bar is not None:
        import_module("IPython.display").display(bar)


@contextmanager
def _connection(client: Any, function: str, elements: int) -> Generator[None]:
    """What is raised where the cluster cannot be reached, in our words."""

    def lost(reason: str) -> ClusterLostError:
        return ClusterLostError(function=function, elements=elements, reason=reason)

    if trouble := _trouble_of(client):
        raise lost(trouble)
    try:
        yield
    except DiastaseError:
        raise
    except import_module("distributed").CancelledError as error:
        raise lost(str(error)) from error
    except Exception as error:  # of many kinds, by what was going on when the connection broke
        if trouble := _trouble_of(client):
            raise lost(trouble) from error
        raise


def _trouble_of(client: Any) -> str:
    """Why nothing can be asked of a client; nothing where it can."""
    if client.status == "running":
        return ""
    known = {"connecting": "the scheduler cannot be reached"}
    return known.get(client.status, f"the client is {client.status}")
