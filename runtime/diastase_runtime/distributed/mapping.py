"""`map`: a saved function on every element of a batch, in this process or on a Dask cluster."""

import math
import operator
import random
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from diastase_runtime.distributed.batches import Batch, read_batch
from diastase_runtime.distributed.elements import Part, Work, run_range
from diastase_runtime.distributed.errors import (
    BatchError,
    NotCompiledError,
    UnequalProgramsError,
)
from diastase_runtime.distributed.results import joined
from diastase_runtime.distributed.workers import loaded
from diastase_runtime.process_limits import MOST_THREADS
from diastase_runtime.saved.errors import DamagedFileError
from diastase_runtime.saved.function import SavedFunction, read_content
from diastase_runtime.saved.manifest import Manifest, SavedProgram
from diastase_runtime.saved.pytrees import Structure
from diastase_runtime.saved.serving import serving, unserved
from diastase_runtime.version import __version__


def map(
    function: Any,
    *batches: Any,
    client: Any = None,
    repeats: int = 1,
    seed: int | None = None,
    threads: int = 1,
    chunk_size: int | None = None,
    progress: bool = False,
    futures: bool = False,
) -> Any:
    """Call a saved function for each element of a batch: on a Dask cluster, or in this process.

    `diastase.distributed.map` takes compiled functions, too.

    Args:
        function: a saved one, or the path of its file.
        *batches: one for each argument of the function: a pytree of arrays with a first axis of the
            same length everywhere. Element `i` is what is in place `i` of each.
        client: of a Dask cluster, whose workers need `diastase-runtime`; None computes here, one
            element after the other. The result is the same, bit for bit, on processors of one kind.
        repeats: calls of each element, each with random numbers of its own; results have two axes.
        seed: of all random numbers; by default that of the function, or a new one in each call.
            Each element has a stream of its own, by the seed and its index.
        threads: of one call, in the last digits of large circuits part of the result.
        chunk_size: calls of one task; by default by how long one takes. It changes no result.
        progress: shows Dask's progress bar, or one of ours.
        futures: leaves the results on the cluster.

    Returns:
        The results, stacked: a pytree of NumPy's arrays with the axis of the batch in front; counts
        of circuits are lists. With `futures`, a `MappedFutures`.

    Raises:
        BatchError: a `ValueError`, for what is no batch.
        UnservedArgumentsError: a `TypeError`, if the function was saved for other types.
        MappedElementError: a `RuntimeError`, with the index of the first element that fails.
        UnequalResultsError: a `ValueError`, if results of elements differ in shape or dtype.
        UnequalProgramsError: a `TypeError`, if several programs serve the batch.
        InvalidClientError: a `TypeError`, for what is no client of Dask's.
        UnfitWorkerError: a `RuntimeError`, if a worker cannot run the function.
        LostWorkersError: a `RuntimeError`, if workers died of the same elements.
        ClusterLostError: a `ConnectionError`, if the cluster cannot be reached any more.

    Example:
        >>> import diastase, diastase_runtime
        >>> import numpy as np
        >>> path = diastase.qjit(lambda x: x**2).save("square.diastase", types="f64")
        >>> diastase_runtime.distributed.map(path, np.array([1.0, 2.0, 3.0]))
        array([1., 4., 9.])
        >>> client = distributed.Client("tcp://scheduler:8786")  # doctest: +SKIP
        >>> diastase_runtime.distributed.map(path, xs, client=client)  # doctest: +SKIP

    """
    if isinstance(function, SavedFunction):
        content, checksum, manifest = read_content(function.path)
        if checksum != function.checksum:
            raise DamagedFileError(file=function.path, reason="it has changed since it was loaded")
    elif isinstance(function, str | PathLike):
        content, checksum, manifest = read_content(Path(function))
    else:
        raise NotCompiledError(what=type(function).__qualname__)
    return map_content(
        content, checksum, manifest, read_batch(batches),
        client=client, repeats=repeats, seed=seed, threads=threads, chunk_size=chunk_size,
        progress=progress, futures=futures,
    )  # fmt: skip


def map_content(
    content: bytes,
    checksum: str,
    manifest: Manifest,
    batch: Batch,
    *,
    client: Any,
    repeats: int,
    seed: int | None,
    threads: int,
    chunk_size: int | None,
    progress: bool,
    futures: bool,
    classes: Sequence[Callable[..., Any]] = (),
) -> Any:
    """The same for a file that has been read; `classes` are those of named tuples of results."""
    repeats = integer_option("repeats", repeats)
    threads = integer_option("threads", threads, MOST_THREADS)
    if chunk_size is not None:
        chunk_size = integer_option("chunk_size", chunk_size)
    if seed is not None:
        seed = integer_option("seed", seed, 2**64 - 1, least=0)
    if futures and progress:
        raise BatchError(reason="futures=True waits for nothing: give progress=True to result()")
    work = _work(checksum, manifest, batch, seed, repeats, threads)
    if client is None:
        if futures:
            raise BatchError(reason="futures=True leaves results on a cluster: give a client")
        return joined(work, [_run_here(content, work, batch, progress=progress)], classes)
    on_cluster: Any = import_module("diastase_runtime.distributed.futures")
    on_cluster.check_client(client)
    if futures:  # Dask sends parts of the batch later, when its owner may have written other values
        return on_cluster.give_out(client, content, work, batch.copied(), chunk_size, classes)
    return on_cluster.run_out(client, content, work, batch, chunk_size, classes, progress=progress)


def integer_option(name: str, value: Any, most: float = math.inf, *, least: int = 1) -> int:
    """An option that is an integer of Python's or NumPy's."""
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if least <= number <= most:
        return number
    wanted = "a positive integer" if most == math.inf else f"an integer from {least} to {most}"
    raise BatchError(reason=f"{name} is {value!r}, which is not {wanted}")


def _work(
    checksum: str, manifest: Manifest, batch: Batch, seed: int | None, repeats: int, threads: int
) -> Work:
    """What is to be done with each element; raises where the function is for other arguments."""
    element = batch.element(0)
    numbers = serving(manifest.programs, batch.structure, (), element)
    programs = [manifest.programs[number] for number in numbers]
    if not programs and (manifest.static_positions or manifest.static_names):
        raise BatchError(
            reason=f"{manifest.name} was saved with static arguments, and a batch has none: "
            "save qjit(lambda x: f(x, 2)), which binds them"
        )
    if not programs:
        raise unserved(manifest, batch.structure, (), element)
    if (
        len({_results(program) for program in programs}) > 1
    ):  # sizes would decide what the result is
        lines = "\n".join(f"    {program}" for program in programs)
        raise UnequalProgramsError(function=manifest.name, programs=lines)
    if seed is None:
        seed = programs[0].seed
    if seed is None:
        seed = random.getrandbits(63)
    structure = programs[0].out_structure
    return Work(
        manifest.name, checksum, tuple(numbers), structure, seed, repeats, threads, __version__
    )


def _results(program: SavedProgram) -> tuple[Structure, tuple[tuple[str, int], ...]]:
    """What results of all programs must have in common; their sizes are seen when they run."""
    leaves = tuple((leaf.dtype, len(leaf.shape)) for leaf in program.results)
    return program.out_structure, leaves


def _run_here(content: bytes, work: Work, batch: Batch, *, progress: bool) -> Part:
    function = loaded(work.name, work.checksum, content)
    calls = batch.length * work.repeats
    told = _Bar(calls) if progress else None
    return run_range(function, work, batch.columns, 0, calls, told=told)


class _Bar:
    """A progress bar of a line, for maps in this process."""

    def __init__(self, calls: int) -> None:
        self._calls, self._began, self._shown = calls, time.monotonic(), 0.0

    def __call__(self, done: int) -> None:
        """Show how many are done, ten times a second at most."""
        now = time.monotonic()
        if done < self._calls and now < self._shown + 0.1:
            return
        self._shown = now
        bar = "#" * (40 * done // self._calls)
        end = "\n" if done == self._calls else ""
        share, seconds = 100 * done // self._calls, now - self._began
        print(f"\r[{bar:<40}] | {share}% Completed | {seconds:.1f} s", end=end, flush=True)
