"""`map`: a compiled function on every element of a batch.

In: a compiled function (or a saved one), batches, a client. What runs is the function as it is
saved, by `diastase_runtime.distributed`: the program is compiled here, for the types of one
element, and its file is given to the workers, which compile nothing. What `save` refuses is refused
here, too.

With `shots=`, what is mapped is a QNode with fewer shots, several times for each element, and the
results are merged here; once more where shots are left.
"""

import operator
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from typing import Any

import jax
from jax.core import Tracer

from diastase.distributed.parts_of_shots import Cut, PartOfShots, cut, part_of_shots
from diastase.jit.qjit import QJIT
from diastase_runtime import distributed
from diastase_runtime.distributed.batches import Batch, read_batch
from diastase_runtime.distributed.errors import BatchError, UnsharedShotsError
from diastase_runtime.distributed.mapping import integer_option
from diastase_runtime.distributed.seeds import element_seed
from diastase_runtime.saved.function import SavedFunction, read_content
from diastase_runtime.saved.pytrees import flatten
from diastase_runtime.trusted_files import temporary

__all__ = ["map"]


def map(
    function: QJIT[..., Any] | SavedFunction | str | PathLike[str],
    *batches: Any,
    client: Any = None,
    repeats: int = 1,
    shots: int | None = None,
    seed: int | None = None,
    threads: int = 1,
    chunk_size: int | None = None,
    progress: bool = False,
    futures: bool = False,
) -> Any:
    """Call a function for each element of a batch: on a Dask cluster, or in this process.

    The function is compiled here, for the types of one element; `docs/cluster.md` has more.

    Args:
        function: a compiled one, a saved one, or the path of its file.
        *batches: one for each argument of the function: a pytree of arrays with a first axis of the
            same length everywhere. Element `i` is what is in place `i` of each.
        client: of a Dask cluster, whose workers need `diastase-runtime` and no compiler; None
            computes here, one element after the other. The result is the same, bit for bit, on
            processors of one kind, whatever workers there are.
        repeats: calls of each element, each with random numbers of its own; results have two axes.
        shots: of each element, for a compiled QNode, in place of its own; they are shared out, and
            results are of all of them.
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
        BatchError: a `ValueError`, for what is no batch, and for static arguments.
        UnsharedShotsError: a `ValueError`, for `shots` of what is no QNode, or cannot be merged.
        MappedElementError: a `RuntimeError`, with the index of the first element that fails.
        NeedsPythonError: a `NotImplementedError`, as `UnsavableError`, for what `save` refuses.
        UnservedArgumentsError: a `TypeError`, if a function was saved for other types.
        UnequalResultsError: a `ValueError`, if results of elements differ in shape or dtype.
        UnequalProgramsError: a `TypeError`, if several programs serve the batch.
        InvalidClientError: a `TypeError`, for what is no client of Dask's.
        UnfitWorkerError: a `RuntimeError`, if a worker cannot run the function.
        LostWorkersError: a `RuntimeError`, if workers died of the same elements.
        ClusterLostError: a `ConnectionError`, if the cluster cannot be reached any more.

    Example:
        >>> import jax.numpy as jnp
        >>> import diastase
        >>> angles = jnp.array([0.0, 1.0])
        >>> value, slope = diastase.distributed.map(
        ...     diastase.qjit(diastase.value_and_grad(lambda x: x**2)), angles
        ... )
        >>> slope
        array([0., 2.])
        >>> client = distributed.Client("tcp://scheduler:8786")  # doctest: +SKIP
        >>> diastase.distributed.map(value_and_grad, angles, client=client)  # doctest: +SKIP

    """
    options: dict[str, Any] = {
        "client": client, "repeats": repeats, "seed": seed, "threads": threads,
        "chunk_size": chunk_size, "progress": progress, "futures": futures,
    }  # fmt: skip
    if shots is not None:
        _check_shots(function, shots, options)
    if not isinstance(function, QJIT):
        return distributed.map(function, *batches, **options)
    if any(place < len(batches) for place in function.signature.static_positions):
        raise BatchError(
            reason="a static argument is none of a batch: bind it, qjit(lambda x: f(x, 2))"
        )
    _refuse_tracers(batches)
    batch = read_batch(batches).of_dtypes(jax.dtypes.canonicalize_dtype)  # as calls have them
    types = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in batch.element(0)]
    args = jax.tree.unflatten(jax.tree.structure(batches), types)  # with classes of the user's
    if shots is None:
        return _map(function, batch, args, options)
    return _map_shots(function, batch, args, operator.index(shots), options)


def _map(function: QJIT, batch: Batch, args: Any, options: dict[str, Any]) -> Any:
    with temporary("diastase-") as folder:
        content = read_content(function.save(folder / "mapped.diastase", types=args))
    classes = _named_tuples(function.compiled_for(args, {}).out_tree)
    return distributed.map_content(*content, batch, **options, classes=classes)


# --- shots ----------------------------------------------------------------------------------------


def _check_shots(function: Any, shots: Any, options: dict[str, Any]) -> None:
    integer_option("shots", shots)
    if options["repeats"] != 1:
        raise BatchError(reason="shots= repeats calls by itself: leave repeats= out, or shots=")
    if options["futures"]:
        raise BatchError(
            reason="futures=True leaves results where they are, and shots= merges them here: use "
            "repeats=, with qjit(qml.set_shots(circuit, 1000))"
        )
    if isinstance(function, SavedFunction | str | PathLike):
        raise UnsharedShotsError(
            function=str(function), reason="a saved function has the shots that it was saved with"
        )


def _map_shots(function: QJIT, batch: Batch, args: Any, shots: int, options: dict[str, Any]) -> Any:
    """All parts of all elements, merged; parts of another size have streams by another seed."""
    wanted = cut(shots)
    seed = options["seed"] if options["seed"] is not None else function.compile_options.seed
    part = _part(function, args, wanted.shots)
    options = {**options, "repeats": wanted.parts, "seed": seed}
    found = [(_map(part.compiled, batch, args, options), wanted)]
    if wanted.rest:
        rest = _part(function, args, wanted.rest)
        seed = None if seed is None else element_seed(operator.index(seed), _OF_THE_REST)
        options = {**options, "repeats": 1, "seed": seed, "progress": False}
        found.append((_map(rest.compiled, batch, args, options), Cut(1, wanted.rest, 0)))
    return part.merged(found)


_OF_THE_REST = -1
"""The index of no call."""


def _part(function: QJIT, args: Any, shots: int) -> PartOfShots:
    leaves, tree = jax.tree.flatten(args)
    key = ("shots", shots, tree, tuple(leaves))
    part = function.derived.get(key)
    if part is None:
        part = function.derived[key] = part_of_shots(function, shots)
    return part


def _named_tuples(tree: Any) -> list[Callable[..., Any]]:
    """The classes of named tuples in a pytree, in the order in which they begin."""
    node = tree.node_data()
    if node is None:
        return []
    kind: Any = node[0]
    is_named = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return ([kind] if is_named else []) + [
        one for child in tree.children() for one in _named_tuples(child)
    ]


def _refuse_tracers(batches: tuple[Any, ...]) -> None:
    leaves: list[Any] = []
    with suppress(TypeError):  # of keys without an order, which `read_batch` tells
        flatten(batches, leaves)
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        raise BatchError(
            reason="its values are not known while qjit, jax.jit or jax.grad trace: map is no part "
            "of a traced program; call it outside, or use diastase.vmap inside"
        )
