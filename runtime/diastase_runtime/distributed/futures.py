"""Chunks on a Dask cluster: given out, waited for, and what became of them.

In: a client, the file of a function, and what is to be done with a batch. Out: a `MappedFutures`,
whose result is that of `map`. The file is the result of a task whose name has its checksum, so that
workers keep it from one map to the next; chunks are tasks with their part of the batch.

A worker that dies is Dask's affair: its tasks run again elsewhere, to the same results. An element
that fails is ours: chunks behind it are given up, those before it are waited for, as one of them
may fail, too; so the first one of the batch is told, whatever came first in time.

The trap: `distributed` is imported here only if the user has, who has made a client.
"""

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from diastase_runtime.distributed.batches import Batch
from diastase_runtime.distributed.chunks import bounds, chunk_size
from diastase_runtime.distributed.elements import Part, Work
from diastase_runtime.distributed.errors import (
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
"""Seconds to wait for the first element before the others are given out."""
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
    """Results that are still on a cluster, or not even computed: what `map(futures=True)` gives."""

    client: Any
    work: Work
    elements: int
    chunks: tuple[tuple[int, int], ...]
    """The first call of each chunk, and how many calls it has."""
    futures: tuple[Any, ...]
    """Dask's, one for each chunk: of a `Part`, whose `tree()` is the pytree of its results."""

    def __len__(self) -> int:
        """How many chunks there are."""
        return len(self.futures)

    def __repr__(self) -> str:
        return f"<MappedFutures {self.work.name}: {self.elements} elements in {len(self)} chunks>"

    def cancel(self) -> None:
        """Give up what is not computed yet."""
        self.client.cancel(list(self.futures))

    def result(self, *, progress: bool = False) -> Any:
        """Wait for all elements and fetch their results, stacked; raises what an element raises."""
        with _connection(self.client, self.work.name, self.elements):
            if progress:
                _show(self.futures)
            return joined(self.work, self._parts())

    def _parts(self) -> list[Part]:
        parts: dict[int, Part] = {}
        errors: dict[int, BaseException] = {}
        numbers = {future: number for number, future in enumerate(self.futures)}
        waiting = import_module("distributed").as_completed(self.futures, loop=self.client.loop)
        for batch in waiting.batches():
            done = {numbers[future]: future for future in batch}
            for number, future in done.items():
                if future.status == "finished" or (errors and number > min(errors)):
                    continue
                if future.status != "error":
                    raise self._lost(future)
                errors[number] = future.exception()
                self.client.cancel(list(self.futures[number + 1 :]))
            good = {n: future for n, future in done.items() if future.status == "finished"}
            if not errors:
                parts.update(zip(good, self.client.gather(list(good.values())), strict=True))
        if errors:
            raise self._told(min(errors), errors[min(errors)])
        return [parts[number] for number in range(len(self.futures))]

    def _lost(self, future: Any) -> ClusterLostError:
        """The error of a chunk that nobody computes any more."""
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
        return error


def give_out(
    client: Any, content: bytes, work: Work, batch: Batch, size: int | None
) -> MappedFutures:
    """Make tasks of a batch, each of `size` calls, or of as many as are worth while."""
    with _connection(client, work.name, batch.length):
        check_cluster(client, work.name)
        return _Giving(client, content, work, batch).all(size)


class _Giving:
    """Gives out the chunks of one batch."""

    def __init__(self, client: Any, content: bytes, work: Work, batch: Batch) -> None:
        self._client, self._work, self._batch = client, work, batch
        self._token = os.urandom(6).hex()
        self._file = _file(client, work.checksum, content)
        self._calls = batch.length * work.repeats

    def all(self, size: int | None) -> MappedFutures:
        threads = max(1, sum(self._client.nthreads().values()))
        chunks: list[tuple[int, int]] = []
        futures: list[Any] = []
        if size is None and self._calls <= threads:
            size = 1
        if size is None:
            chunks = [(0, 1)]
            futures = self._tasks(run_timed, chunks)
            size = chunk_size(self._calls, _seconds(futures[0]), threads)
        rest = bounds(len(chunks), self._calls, size)
        futures += self._tasks(run_chunk, rest)
        chunks += rest
        return MappedFutures(
            self._client, self._work, self._batch.length, tuple(chunks), tuple(futures)
        )

    def _tasks(self, run: Any, chunks: Sequence[tuple[int, int]]) -> list[Any]:
        if not chunks:
            return []
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


def _seconds(future: Any) -> float:
    """How long a call takes; where that is long, or fails, no more is known than that."""
    try:
        error = future.exception(timeout=_PATIENCE)
    except TimeoutError:
        return _PATIENCE
    return _PATIENCE if error is not None else future.result().seconds


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
