"""Maps in this process, how batches are read and cut, and seeds of elements."""

import copy
import multiprocessing
from collections import namedtuple
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase_runtime
from diastase import qjit, value_and_grad
from diastase.distributed import map
from diastase.jit.options.ir_errors import NeedsPythonError
from diastase.jit.options.saving_errors import UnsavableError
from diastase_runtime import distributed
from diastase_runtime.distributed import workers
from diastase_runtime.distributed.chunks import SCHEDULER, TASK, bounds, chunk_size
from diastase_runtime.distributed.elements import Part, Work
from diastase_runtime.distributed.errors import (
    BatchError,
    InvalidClientError,
    MappedElementError,
    NotCompiledError,
    UnequalProgramsError,
    UnequalResultsError,
)
from diastase_runtime.distributed.results import joined
from diastase_runtime.distributed.seeds import element_seed
from diastase_runtime.errors import AssumptionError, Span, WireOutOfRangeError
from diastase_runtime.saved.errors import DamagedFileError, UnservedArgumentsError
from diastase_runtime.saved.function import read_content
from diastase_runtime.saved.pytrees import LEAF

Point = namedtuple("Point", ["angles", "scale"])


@qjit
@value_and_grad
@qml.qnode(qml.device("lightning.qubit", wires=2))
def train(point):
    qml.RX(point.angles[0], wires=0)
    qml.CRY(point.angles[1] * point.scale, wires=[0, 1])
    return qml.expval(qml.Z(1))


@qjit
def draws(x):
    @qml.set_shots(50)
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit():
        qml.RX(x, wires=0)
        qml.CNOT(wires=[0, 1])
        return qml.counts(), qml.sample(wires=0), qml.expval(qml.Z(0))

    return circuit()


def points(count):
    random = np.random.default_rng(3)
    return Point(random.uniform(-3, 3, (count, 2)), random.uniform(-1, 1, count))


def test_elements_are_computed_as_by_themselves():
    batch = points(7)
    values, gradients = map(train, batch)
    assert values.shape == (7,)
    assert type(gradients) is Point
    for k in range(7):
        value, gradient = train(Point(jnp.asarray(batch.angles[k]), jnp.asarray(batch.scale[k])))
        assert values[k] == value
        assert gradients.angles[k].tolist() == gradient.angles.tolist()
        assert gradients.scale[k] == gradient.scale


class Pair(NamedTuple):
    x: object
    y: object

    def product(self):
        return Pair(self.x * self.y, self.y)


def test_functions_see_the_users_classes():
    found = map(qjit(lambda pair: pair.product()), Pair(np.arange(3.0), np.full(3, 2.0)))
    assert type(found) is Pair
    assert found.x.tolist() == [0, 2, 4]


Inner = namedtuple("Inner", ["a"])
Same = namedtuple("Inner", ["a"])


def test_named_tuples_are_of_the_users_classes():
    """In their places, where names and fields are equal, too; files do not know them."""
    function = qjit(lambda x: {"p": Point(Inner(x), [Same(2 * x), (Inner(x),)]), "o": x})
    got = map(function, np.ones(3))["p"]
    assert type(got) is Point
    assert [type(got.angles), type(got.scale[0]), type(got.scale[1][0])] == [Inner, Same, Inner]
    assert got.scale[0].a.tolist() == [2, 2, 2]
    function.save("f.diastase", types="f64")
    saved = map("f.diastase", np.ones(3))["p"]
    assert type(saved).__name__ == "Point"
    assert type(saved) is not Point


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex64"])
def test_dtypes_and_ranks(dtype):
    numbers = np.arange(24).reshape(4, 3, 2).astype(dtype)
    arguments = (numbers, numbers[:, 0, 0], jnp.asarray(numbers)[:, :, 0])
    got = map(
        qjit(lambda a, b, c: (a, ~b if b.dtype == bool else b + b, c[::-1], c[:0])), *arguments
    )
    wanted = jax.vmap(lambda a, b, c: (a, ~b if b.dtype == bool else b + b, c[::-1], c[:0]))
    for one, other in zip(got, wanted(*map_leaves(jnp.asarray, arguments)), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tolist() == other.tolist()


def map_leaves(function, leaves):
    return [function(leaf) for leaf in leaves]


def test_what_is_not_contiguous_and_sizes_that_are_open():
    numbers = np.arange(60.0).reshape(3, 4, 5)
    function = qjit(lambda x: jnp.cumsum(x, 0))
    function.save("sums.diastase", types="f64[n,m]")
    for batch in (numbers, numbers.transpose(2, 0, 1), numbers[:, ::-2]):
        got = distributed.map("sums.diastase", batch)
        assert got.tolist() == np.cumsum(batch, 1).tolist()
    loaded = diastase_runtime.load("sums.diastase")
    assert map(loaded, numbers).tolist() == np.cumsum(numbers, 1).tolist()


def test_each_element_draws_from_a_stream_of_its_own():
    angles = np.full(4, 1.3)
    counts, samples, averages = map(draws, angles, seed=11)
    draws.save("draws.diastase", types="f64")
    (call,) = diastase_runtime.load("draws.diastase").calls([0])
    for k in range(4):
        outcomes, numbers, *_, sample, average = call.executable([1.3], element_seed(11, k))
        assert counts[k]["00"] == numbers[outcomes == 0].sum()
        assert samples[k].tolist() == sample.tolist()
        assert averages[k] == average
    assert len({tuple(sample.reshape(-1).tolist()) for sample in samples}) == 4
    assert map(draws, angles, seed=11)[0] == counts
    assert map(draws, angles)[0] != counts


def test_seeds_of_functions():
    seeded = qjit(draws.original_function, seed=11)
    angles = np.full(4, 1.3)
    assert map(seeded, angles)[0] == map(draws, angles, seed=11)[0]


def test_repetitions_share_out_shots():
    """Of one element too; their average is that of all shots."""
    angles = np.array([0.4, 1.1])
    counts, samples, averages = map(draws, angles, seed=5, repeats=40)
    assert samples.shape[:2] == averages.shape == (2, 40)
    flat = map(draws, np.repeat(angles, 40), seed=5)
    assert averages.reshape(-1).tolist() == flat[2].tolist()
    assert counts[1][3] == flat[0][43]
    assert np.abs(averages.mean(1) - np.cos(angles)).max() < 5 / np.sqrt(2000)


def test_seeds_are_those_of_splitmix():
    """The generator of the paper, started with the mixed seed 0: the mix of 0 is 0."""
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert [element_seed(0, index) for index in range(4)] == known
    seeds = {
        element_seed(seed, index) for seed in (0, 1, 2**64 - 1, 2**63) for index in range(1000)
    }
    assert len(seeds) == 4000


BAD_BATCHES = {
    "10 elements, the batch\\['b'\\] has 9": ({"a": np.ones((10, 3)), "b": np.ones(9)},),
    "batch 1 has 2 elements, batch 2 has 3": (np.ones(2), np.ones(3)),
    "has no elements": (np.ones((0, 3)),),
    "there is no array in it": ({},),
    "there is no array": (),
    "the batch is a float without a first axis": (0.5,),
    "the batch\\[1\\] is a int without": ([np.ones(2), 3],),
    "the batch is a masked array": (np.ma.masked_array(np.ones(3), [0, 1, 0]),),
    "the batch is a object, not an array": (object(),),
    "the batch is an array of <U1, not": (np.array(["a", "b"]),),
    r"the batch\[0\] is a int .* numpy.array\(numbers\)": ([1, 2, 3],),
    r"batch 2 is a int .* bound, qjit\(lambda x: f\(x, 2\)\)": (np.ones(3), 2),
    "the batch has dtype >f8": (np.ones(3, ">f8"),),
    "batch 2\\['a'\\] has dtype .*longdouble|float128": (np.ones(3), {"a": np.ones(3, "g")}),
    "the batch has dtype .*f4'": (np.zeros(3, [("a", "f4"), ("b", "f8")]),),
    "the batch has dtype .V4": (np.zeros(3, "V4"),),
    "the batch is a list|the batch\\[0\\] is a str": (["a", "b"],),
    "keys without an order": ({1: np.ones(2), "a": np.ones(2)},),
    "the batch is no array": (jax.random.split(jax.random.key(0), 3),),
}


@pytest.mark.parametrize("message", BAD_BATCHES)
def test_what_is_no_batch(message):
    with pytest.raises(BatchError, match=message):
        map(qjit(lambda *x: x), *BAD_BATCHES[message])


@pytest.mark.parametrize(
    "options",
    [
        {"repeats": 0}, {"repeats": 1.5}, {"repeats": True}, {"threads": 0}, {"threads": 5000},
        {"seed": -1}, {"seed": 2**64}, {"seed": 0.5},
        {"chunk_size": 0}, {"chunk_size": "all"}, {"futures": True},
        {"progress": True, "futures": True},
    ],
)  # fmt: skip
def test_options_that_make_no_sense(options):
    with pytest.raises(BatchError, match=next(iter(options))):
        map(qjit(lambda x: x), np.ones(3), **options)


def test_batches_that_are_traced_and_static_arguments():
    function = qjit(lambda x: x * 2)
    for transform in (jax.jit, qjit, jax.grad):
        with pytest.raises(BatchError, match="map is no part of a traced program"):
            transform(lambda x: map(function, x).sum())(jnp.ones(3))
    times = qjit(lambda x, n=3: x * n, static_argnums=1)
    for static in (2, np.ones(3)):
        with pytest.raises(BatchError, match="a static argument is none of a batch: bind it"):
            map(times, np.ones(3), static)
    assert map(times, np.ones(3)).tolist() == [3, 3, 3]
    times.save("f.diastase", types=(1.0, 3))
    with pytest.raises(BatchError, match="saved with static arguments"):
        map("f.diastase", np.ones(3))


def test_options_of_numpy():
    options = {"repeats": 2, "threads": 1, "seed": 5, "chunk_size": 3}
    there = map(draws, np.ones(2), **{name: np.int64(value) for name, value in options.items()})
    assert there[0] == map(draws, np.ones(2), **options)[0]


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128", "uint64", "float16"])
def test_dtypes_where_x64_is_off(dtype):
    """Those of a call."""
    numbers = np.array([1 / 3, 30_000, 5]).astype(dtype)
    with jax.enable_x64(False):
        function = qjit(lambda x: x + x)
        got = map(function, numbers)
        calls = [function(number) for number in numbers]
    assert got.dtype == calls[0].dtype
    assert got.tolist() == [call.tolist() for call in calls]


def test_what_is_no_function_and_no_client():
    with pytest.raises(NotCompiledError, match="is a function"):
        map(lambda x: x, np.ones(3))
    with pytest.raises(InvalidClientError, match="a str"):
        map(qjit(lambda x: x), np.ones(3), client="tcp://127.0.0.1:8786")
    with pytest.raises(FileNotFoundError):
        map("none.diastase", np.ones(3))


def test_functions_that_cannot_be_saved():
    @qjit
    def prints(x):
        jax.debug.print("{}", x)
        return x

    with pytest.raises(NeedsPythonError, match="debug"):
        map(prints, np.ones(3))

    @qjit
    def makes_keys(x):
        return jax.random.key(x)

    with pytest.raises(UnsavableError, match="a key"):
        map(makes_keys, np.arange(3))


def test_functions_that_were_saved_for_others():
    qjit(lambda x: x).save("f.diastase", types=["f64[3]", "i64"])
    with pytest.raises(UnservedArgumentsError, match=r"called with \(float64\[4\]\)"):
        map("f.diastase", np.ones((2, 4)))
    loaded = diastase_runtime.load("f.diastase")
    qjit(lambda x: x + 1).save("f.diastase", types=["f64[3]"])
    with pytest.raises(DamagedFileError, match="changed since it was loaded"):
        map(loaded, np.ones((2, 3)))


def test_files_that_are_altered_on_the_way():
    """A worker compares what it gets with its checksums, and with that of the function."""
    function = qjit(lambda x: x + 2)
    function.save("f.diastase", types="f64")
    content, checksum, _ = read_content(Path("f.diastase"))
    altered = content.replace(b"ELF", b"ELE", 1)
    with pytest.raises(DamagedFileError, match="copy the file again"):
        workers.loaded("f", checksum, altered)
    with pytest.raises(DamagedFileError, match="another function"):
        workers.loaded("f", "0" * 64, content)
    assert workers.loaded("f", checksum, content)(1.0) == 3.0


@qjit
def on_wire(wire):
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit():
        qml.X(wires=wire)
        return qml.probs()

    return circuit()


def test_an_element_that_fails_is_named():
    with pytest.raises(
        MappedElementError, match=r"(?s)element 2 of on_wire: .* on wire 7"
    ) as caught:
        map(on_wire, np.array([0, 1, 7, 1, 9]))
    assert caught.value.index == 2
    assert isinstance(caught.value.__cause__, WireOutOfRangeError)
    assert caught.value.error.wire == 7
    assert map(on_wire, np.array([0, 1])).tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]


def test_results_of_different_sizes():
    with pytest.raises(UnequalResultsError, match=r"\['n'\] .*\[2\] .*\[3\] for element 1"):
        map(qjit(lambda n: {"n": jnp.ones(n)}), np.array([2, 3]))
    assert map(qjit(lambda n: jnp.ones(n)), np.array([2, 2])).shape == (2, 2)


def test_programs_that_hold_for_some_sizes_only():
    """They are chosen between as in a call."""

    @qjit
    def last_two(n):
        x = jnp.arange(n)
        return x[-2:].sum() if x.shape[0] >= 2 else x.sum() - 5

    for n in np.array([1, 4]):
        last_two(n)
    assert map(last_two, np.array([4, 1, 0, 2])).tolist() == [5, -5, -5, 1]


@pytest.mark.parametrize(
    "other", [lambda x: x.sum() + 7, lambda x: (x.sum() * 0.5,), lambda x: x[:1] * 0.5]
)
def test_programs_whose_results_are_of_different_types(other):
    """Neither the order of the elements nor how they are cut decides of which the results are."""

    @qjit
    def half(n):
        x = jnp.arange(n)
        return x.sum() * 0.5 if x.shape[0] >= 2 else other(x)

    for n in np.array([1, 3]):
        half(n)
    for batch in ([1, 3], [3, 1], [3, 3]):
        with pytest.raises(UnequalProgramsError, match=r"(?s)half .*-> float64\[\]"):
            map(half, np.array(batch))


def test_columns_of_results_have_one_dtype():
    """Whatever a file says of its programs."""
    work = Work("f", "", (0,), LEAF, 0, 1, 1, "0")
    parts = [Part(k, LEAF, [np.zeros(1, dtype)], 0.0) for k, dtype in enumerate((int, float))]
    with pytest.raises(UnequalResultsError, match=r"is int64\[\] .* and float64\[\] for element 1"):
        joined(work, parts)


def test_threads_of_one_call_are_as_many_as_it_says(monkeypatch):
    """Classical loops give the same with any number; there are as many as before afterwards."""
    x = np.linspace(0, 1, 3 * 200_000).reshape(3, -1)
    function = qjit(lambda x: jnp.sum(jnp.sin(x)) + jnp.linalg.norm(x))
    one, two = (map(function, x, threads=threads) for threads in (1, 2))
    assert one.tolist() == two.tolist()
    np.testing.assert_allclose(one, np.sin(x).sum(1) + np.linalg.norm(x, axis=1), rtol=1e-12)


def test_progress_is_shown(capsys):
    map(qjit(lambda x: x), np.ones(30), progress=True)
    assert capsys.readouterr().out.rstrip().endswith("s")
    map(qjit(lambda x: x), np.ones(30))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("calls", [1, 7, 1000, 20_000])
@pytest.mark.parametrize("seconds", [1e-6, 1e-3, 0.4, 100.0])
@pytest.mark.parametrize("threads", [1, 2, 1000])
def test_sizes_of_chunks(calls, seconds, threads):
    size = chunk_size(calls, seconds, threads)
    assert 1 <= size <= calls
    whole = size == calls
    assert whole or size * seconds >= 5 * TASK  # tasks cost little,
    chunks = calls / size
    busy = calls * seconds / min(threads, chunks)
    assert whole or chunks * SCHEDULER <= 1.01 * max(busy, seconds)  # the scheduler keeps up,
    assert size * seconds <= max(11.0, seconds)  # and little is lost with a worker
    cut = bounds(0, calls, size)
    firsts, counts = zip(*cut, strict=True)
    assert [*firsts, calls] == [*accumulate(counts, initial=0)]
    assert max(counts) <= size
    assert max(counts) - min(counts) <= 1


def copied(value):
    """As another process gets it."""
    process = multiprocessing.get_context("spawn")
    reader, writer = process.Pipe(duplex=False)
    writer.send(value)
    return reader.recv()


def test_errors_and_named_tuples_travel():
    """To other processes, and back: by the fields."""
    error = WireOutOfRangeError(construct="RX", wire=7, num_wires=2, span=Span("a.py", 3, "f"))
    mapped = MappedElementError(index=4, function="f", error=error)
    for again in (copied(mapped), copy.copy(mapped)):
        assert str(again) == str(mapped)
        assert (type(again.error), again.error.span) == (WireOutOfRangeError, error.span)
    assumption = AssumptionError(assumption="n > 2", left=1, right=2, number=0, raised_by=map)
    assert copied(assumption).raised_by is None
    _, gradients = map(train, points(2))
    again = copied(gradients)
    assert type(again) is type(gradients)
    assert again.angles.tolist() == gradients.angles.tolist()
