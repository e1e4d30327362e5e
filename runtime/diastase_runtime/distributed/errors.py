"""Errors of maps over batches: the batch, the client, workers, elements and their results."""

from concurrent.futures import CancelledError
from typing import ClassVar

from diastase_runtime.errors import DiastaseError


class BatchError(DiastaseError, ValueError):
    """`diastase.distributed.map` was given what is no batch, or options that make no sense.

        map(f, {"x": np.ones((10, 3)), "scale": np.ones(9)})   # 10 elements, or 9?
        map(f, 0.5)                                             # has no first axis

    A batch is a pytree of arrays whose first axes are equally long, at least 1: element `i` is the
    pytree of `array[i]`. What all elements share is repeated (`numpy.broadcast_to`), or is a part
    of the function.
    """

    title: ClassVar[str] = "No batch"
    message: ClassVar[str] = "{reason}"
    reason: str


class UnsharedShotsError(DiastaseError, ValueError):
    """`shots=` of `diastase.distributed.map` for results that nobody knows how to merge.

        map(qjit(circuit), batch, shots=10_000)                 # a QNode: each result is measured
        map(qjit(lambda x: circuit(x) ** 2), batch, shots=10_000)    # is it a mean? samples?

    Shots of an element are calls with fewer shots each, whose results are merged as measurements
    ask for: `expval`, `var`, `probs`, `sample`, `counts`, and derivatives of the first and third.
    Of all else `repeats=` gives the results of the calls themselves.
    """

    title: ClassVar[str] = "Shots that cannot be shared out"
    message: ClassVar[str] = "{function}: {reason}"
    help: ClassVar[str] = "give the QNode its shots, map with repeats=, and merge the results"
    function: str
    reason: str


class NotCompiledError(DiastaseError, TypeError):
    """`diastase.distributed.map` of something that is neither compiled nor saved.

    map(qjit(f), batch)            # a compiled function
    map("f.diastase", batch)       # a saved one, or what `load` has made of it
    """

    title: ClassVar[str] = "No compiled function"
    message: ClassVar[str] = "the function is a {what}"
    help: ClassVar[str] = "give qjit(function), a saved function, or the path of one"
    what: str


class InvalidClientError(DiastaseError, TypeError):
    """`client=` is no client of Dask's that a function can wait for.

        map(f, batch, client=distributed.Client(address))   # a client
        map(f, batch, client=None)                          # in this process

    A cluster is none: `cluster.get_client()`. An asynchronous client cannot be waited for; make one
    with `asynchronous=False`.
    """

    title: ClassVar[str] = "No client"
    message: ClassVar[str] = "client is {what}"
    help: ClassVar[str] = "give a distributed.Client, or None to compute in this process"
    what: str


class ClusterLostError(DiastaseError, ConnectionError):
    """The cluster is closed, or cannot be reached any more; results on it are lost.

    Make a new client, and call the function again.
    """

    title: ClassVar[str] = "The cluster is gone"
    message: ClassVar[str] = "{function} on {elements} elements: {reason}"
    help: ClassVar[str] = "make a new client, and map again"
    function: str
    elements: int
    reason: str


class CancelledMapError(DiastaseError, CancelledError):
    """The results of a map that was given up by `cancel()`.

        mapped = map(f, batch, client=client, futures=True)
        mapped.cancel()
        mapped.result()    # nobody computes it

    It is a `concurrent.futures.CancelledError`, as a future of Python's raises.
    """

    title: ClassVar[str] = "Given up"
    message: ClassVar[str] = "{function} on {elements} elements: the map was cancelled"
    help: ClassVar[str] = "map again where the results are wanted"
    function: str
    elements: int


class MappedElementError(DiastaseError, RuntimeError):
    """The function raised for one element of a batch.

        try:
            map(f, batch, client=client)
        except MappedElementError as error:
            print(error.index, error.error)     # which element, and what it raised

    Of several that fail it is the first one of the batch, on every cluster. `error` is what a call
    of the function for this element alone raises.
    """

    title: ClassVar[str] = "An element failed"
    message: ClassVar[str] = "element {index} of {function}: {error}"
    index: int
    function: str
    error: Exception


class UnequalResultsError(DiastaseError, ValueError):
    """Results of the elements of a batch cannot be one array, as their shapes or dtypes differ.

        map(qjit(lambda n: jnp.arange(n)), np.array([2, 3]))

    A size that an element's values say makes results of different sizes. Return arrays of one size.
    """

    title: ClassVar[str] = "Results of different types"
    message: ClassVar[str] = (
        "{result} of {function} is {first} for earlier elements and {other} for element {index}"
    )
    help: ClassVar[str] = "return arrays of one size, with zeros behind what there is"
    function: str
    result: str
    index: int
    first: str
    other: str


class UnequalProgramsError(DiastaseError, TypeError):
    """A function has several programs for the batch, whose results are of different types.

        @qjit
        def f(n):
            x = jnp.arange(n)
            return x.sum() * 0.5 if x.shape[0] > 1 else x.sum()    # float64 or int64?

    Each program holds for some sizes only, and an element's values say which size it has. Return
    the same pytree, with the same dtypes, for all sizes: `x.sum() * 1.0`.
    """

    title: ClassVar[str] = "Results of different types"
    message: ClassVar[str] = "{function} has a program for some sizes each:\n{programs}"
    help: ClassVar[str] = "return the same pytree, with the same dtypes, for all sizes"
    function: str
    programs: str


class UnfitWorkerError(DiastaseError, RuntimeError):
    """A worker or the scheduler cannot have the function: its processor or packages do not fit.

    `error` is what loading raises there: `MissingProcessorFeaturesError` (save the function with
    `target_cpu=`), `MissingPackageError`, `SavedVersionError`; or `ImportError`, where there is no
    `diastase-runtime`, or of another version: install the same one everywhere.
    """

    title: ClassVar[str] = "A worker cannot run the function"
    message: ClassVar[str] = "{function} on {worker}: {error}"
    function: str
    worker: str
    error: Exception


class LostWorkersError(DiastaseError, RuntimeError):
    """Workers died while they computed the same elements, as often as Dask allows.

    Usually their memory was not enough. Take smaller chunks (`chunk_size=1`) to see which element
    it is, give workers more memory, or fewer threads.
    """

    title: ClassVar[str] = "Workers died"
    message: ClassVar[str] = "{function}: elements {first} to {last}: {reason}"
    help: ClassVar[str] = "see the logs of the workers; often it is memory"
    function: str
    first: int
    last: int
    reason: str
