"""Saved functions give what the compiled function gives, bit for bit; what cannot be saved."""

import errno
import os
import threading
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diastase_runtime
from diastase import DiastaseError, for_loop, qjit, value_and_grad, while_loop
from diastase.jit.options.ir_errors import NeedsPythonError
from diastase.jit.options.saving_errors import (
    AmbiguousProgramsError,
    InvalidTypesError,
    NothingToSaveError,
    SaveError,
    UnsavableError,
)
from diastase.quantum.measurements.counts import CountsDict
from diastase_runtime.errors import AssumptionError, WireOutOfRangeError
from diastase_runtime.saved import file
from diastase_runtime.saved.errors import UnservedArgumentsError

FILE = "function.diastase"
Point = namedtuple("Point", "x y")


def loaded(function, **options):
    function.save(FILE, **options)
    return diastase_runtime.load(FILE)


def numpy_of(tree):
    return jax.tree.map(lambda leaf: leaf if type(leaf) in NUMBERS else np.asarray(leaf), tree)


NUMBERS = (bool, int, float, complex)


def plain(node):
    return dict(node) if isinstance(node, CountsDict) else node


def assert_same(got, wanted):
    """Equal structures, types and bits."""
    wanted = jax.tree.map(plain, wanted, is_leaf=lambda node: isinstance(node, CountsDict))
    assert str(jax.tree.structure(got)) == str(jax.tree.structure(wanted))
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        if isinstance(other, int):  # counts in a dictionary
            assert (type(one), one) == (int, other)
            continue
        assert type(one) is np.ndarray
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == np.asarray(other).tobytes()


def assert_serves(function, *calls, **options):
    """A function, called with arrays of JAX's, and saved and called with NumPy's."""
    wanted = [function(*call) for call in calls]
    saved = loaded(function, **options)
    for _ in range(2):  # the second call has a plan
        for call, result in zip(calls, wanted, strict=True):
            assert_same(saved(*numpy_of(call)), result)
    return saved


# --- what is computed -----------------------------------------------------------------------------


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "dtype",
    [
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
    ],
)  # fmt: skip
def test_arrays_of_every_type_and_size(dtype):
    sizes = [(), (0,), (3, 0), (7,), (2, 3), (5000,)]
    values = [jnp.arange(np.prod(size, dtype=int)).reshape(size).astype(dtype) for size in sizes]
    assert_serves(qjit(lambda x: (x + x, x[None] * x)), *[(value,) for value in values])


CLASSICAL = {
    "elementary": (lambda x: jnp.sin(x) + jnp.exp(-x) * jnp.tanh(x), ((5,), (1000,))),
    "products": (lambda x: x @ x.T, ((3, 4), (60, 50))),
    "eigenvalues": (lambda x: jnp.linalg.eigh(x @ x.T), ((3, 4), (20, 20))),
    "solutions": (lambda x: jnp.linalg.solve(x @ x.T + jnp.eye(len(x)), x[:, 0]), ((4, 4),)),
    "fourier": (lambda x: jnp.fft.fft(x), ((8,), (35,))),
    "sorted": (lambda x: (jnp.sort(x), jnp.argsort(x)), ((9,), (4000,))),
    "loops": (lambda x: for_loop(0, len(x), 1)(lambda i, s: s * 0.5 + x[i])(0.0), ((6,), (400,))),
    "branches": (lambda x: jax.lax.cond(x[0] > 0, lambda: x * 2, lambda: -x), ((4,), (9,))),
    "searches": (
        lambda x: while_loop(lambda s: s < 100)(lambda s: s * (2 + x[0] ** 2))(1.0),
        ((1,),),
    ),
    "gradients": (value_and_grad(lambda x: jnp.sum(x**3) / (1 + jnp.sum(x * x))), ((5,), (50,))),
    "batches": (jax.vmap(lambda x: jnp.cumsum(x) / jnp.sum(x * x)), ((4, 5), (100, 30))),
    "of any size": (lambda x: x[x > 0], ((7,), (500,))),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", CLASSICAL)
def test_classical_programs(name):
    function, sizes = CLASSICAL[name]
    generator = np.random.default_rng(3)
    assert_serves(qjit(function), *[(jnp.asarray(generator.normal(size=size)),) for size in sizes])


def circuit(device="lightning.qubit", wires=3, shots=None, **options):
    """Decorate the body of a QNode."""
    made = qml.device(device, wires=wires, **options)
    return lambda body: qml.set_shots(qml.qnode(made)(body), shots=shots)


@circuit()
def exact(x, y):
    qml.RX(x, wires=0)
    for_loop(0, 2, 1)(lambda i: qml.CRY(y * i, wires=[i, i + 1]))()
    return qml.expval(qml.Z(0) @ qml.X(1)), qml.probs(wires=[0, 2]), qml.state()


@circuit(c_dtype=np.complex64)
def single(x, y):
    qml.RX(x, wires=0)
    qml.CRY(y, wires=[0, 1])
    return qml.state()


@circuit("default.mixed", wires=2)
def noisy(x, y):
    qml.RX(x, wires=0)
    qml.DepolarizingChannel(0.1, wires=0)
    qml.CRY(y, wires=[0, 1])
    return qml.density_matrix(wires=[0, 1])


@circuit(shots=200)
def sampled(x, y):
    qml.RX(x, wires=0)
    qml.CRY(y, wires=[0, 1])
    return qml.sample(), qml.counts(wires=[0, 1]), qml.counts(qml.Z(0), all_outcomes=True)


@circuit()
def energy(x, y):
    qml.RX(x, wires=0)
    qml.CRY(y, wires=[0, 1])
    return qml.expval(qml.Z(1))


CIRCUITS = {
    "exact": exact,
    "single": single,
    "noisy": noisy,
    "sampled": sampled,
    "gradient": value_and_grad(energy, argnums=(0, 1)),
    "in lanes": lambda x, y: jax.vmap(exact, (0, None))(x * jnp.arange(5.0), y),
}


@pytest.mark.parametrize("counts", ["dict", "arrays"])
@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.sample(5)
def test_circuits(name, counts):
    function = qjit(CIRCUITS[name], seed=11, counts=counts)
    assert_serves(function, (0.3, 0.7), (jnp.array(1.5), jnp.array(0.2)))


def test_without_a_seed_each_call_draws():
    @qjit
    def draws(x):
        return circuit(shots=30)(lambda: (qml.RX(x, wires=0), qml.sample(wires=0))[1])()

    saved = loaded(draws, types="f64")
    assert len({saved(1.5).tobytes() for _ in range(4)}) > 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 40), st.integers(1, 6), st.integers(0, 2**32))
def test_sizes_that_are_open(rows, columns, seed):
    x = np.random.default_rng(seed).normal(size=(rows, columns))
    wanted = open_sizes(jnp.asarray(x), jnp.asarray(x[:, :1]))
    assert_same(saved_open_sizes()(x, x[:, :1]), wanted)


open_sizes = qjit(
    lambda x, y: {"sum": jnp.sum(x, 0), "both": (x * y, jnp.concatenate([x, x]))},
    abstracted_axes=({0: "n", 1: "m"}, {0: "n"}),
)


_saved = []


def saved_open_sizes():
    if not _saved:
        _saved.append(loaded(open_sizes, types="f64[n,m], f64[n,1]"))
    return _saved[0]


# --- how it is called -----------------------------------------------------------------------------


def test_pytrees_go_in_and_come_out():
    def function(params, *rest, scale):
        point = Point(params["w"] * scale, [rest[0], None])
        return {"b": (point, ()), "a": [jnp.sum(rest[1]["z"]), {(1, "k"): rest[0] + 1}]}

    arguments = {"w": jnp.arange(3.0), "v": None}, jnp.float32(2), {"z": jnp.ones((2, 2)), "y": 1}
    compiled = qjit(function)
    wanted = compiled(*arguments, scale=2.0)
    got = loaded(compiled)(*numpy_of(arguments), scale=2.0)
    assert_same(jax.tree.leaves(got), jax.tree.leaves(wanted))
    point = got["b"][0]
    assert (type(point).__name__, point._fields, point.y[1]) == ("Point", ("x", "y"), None)
    assert (list(got), got["b"][1], *got["a"][1]) == (list(wanted), (), (1, "k"))
    given_point = qjit(lambda p: p.x - p.y)
    given_point(Point(3.0, 2.0))
    assert loaded(given_point)(Point(3.0, 2.0)) == 1.0


def test_numbers_and_arrays_find_their_programs():
    """As JAX promotes: a number adapts to an array, an array of rank 0 does not."""
    function = qjit(lambda x, y: x * y)
    y = jnp.ones(2, jnp.float32)
    assert_serves(function, (2.0, y), (jnp.float64(2), y), (2, y), (True, y), (3, 4), (2j, y))
    saved = diastase_runtime.load(FILE)
    assert saved(np.float64(2), np.ones(2, np.float32)).dtype == np.float64
    assert saved(np.int64(3), 4) == 12  # no program of its own: that of a number serves
    given_by_interface = jnp.ones(2, jnp.float32)
    assert saved(2.0, given_by_interface).dtype == np.float32


def test_arrays_in_any_order_and_place():
    saved = loaded(qjit(lambda x: x * 2), types="f64[n,m]")
    x = np.arange(24.0).reshape(4, 6)
    odd = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float64).reshape(4, 6)
    for array in (x.T, x[::2, ::-1], odd, np.asfortranarray(x), x[:0]):
        assert saved(array).tolist() == (array * 2).tolist()
    results = saved(x)
    results[0, 0] = 5.0  # nobody else's
    assert saved(x)[0, 0] == 0.0


def test_static_arguments_choose_programs():
    def power(x, n, kind="times", flag=True):
        return x**n if kind == "times" else x * n + (0 if flag else 0.5)

    compiled = qjit(power, static_argnums=1, static_argnames=("kind", "flag"))
    compiled(2.0, 3)
    compiled(2.0, 3.0, kind="plus")
    compiled(2.0, 3, flag=False, kind="plus")
    saved = loaded(compiled)
    assert saved(2.0, 3) == 8.0
    assert saved(2.0, 3.0, kind="plus") == 6.0
    assert saved(2.0, 3, flag=False, kind="plus") == 6.5
    for wrong in [(2.0, 4), (2.0, True), (2.0,), (2.0, 3.0)]:
        with pytest.raises(UnservedArgumentsError, match="n=3"):
            saved(*wrong)
    with pytest.raises(UnsavableError, match=r"static argument kind is a type"):
        loaded_static(int)


def loaded_static(value):
    compiled = qjit(lambda x, kind: x * 2, static_argnums=1)
    compiled(1.0, value)
    return loaded(compiled)


def test_a_stage_is_saved_without_its_static_arguments():
    compiled = qjit(lambda x, n: x**n, static_argnums=1).trace(2.0, 3).lower().compile()
    assert compiled.save(FILE) == Path(FILE)
    assert diastase_runtime.load(FILE)(2.0) == 8.0


def test_arguments_by_name_are_put_in_their_places():
    @qjit
    def difference(x: float, y: float):
        return x - y

    saved = loaded(difference)
    assert [saved(3.0, 1.0), saved(x=3.0, y=1.0), saved(3.0, y=1.0)] == [2.0, 2.0, 2.0]
    with pytest.raises(UnservedArgumentsError, match=r"called with \(z=float\)"):
        saved(z=1.0)


class Model:
    def __init__(self, scale):
        self.scale = scale

    @qjit
    def times(self, x):
        return x * self.scale


def test_a_method_is_saved_with_its_object_as_it_is():
    model = Model(3.0)
    model.times(2.0)
    assert loaded(model.times)(2.0) == 6.0
    model.scale = 4.0
    model.times(2.0)
    with pytest.raises(AmbiguousProgramsError, match=r"two programs for \(x: float64\[\]\)"):
        model.times.save(FILE)
    assert loaded(model.times, types=(1.0,))(2.0) == 8.0


def test_programs_that_hold_for_some_sizes():
    @qjit(abstracted_axes=("n",))
    def last_two(x):
        return x[-2:] if x.shape[0] >= 2 else x * 10

    last_two(jnp.arange(5.0))
    with pytest.raises(AssumptionError, match=r"(?s)assumes.*test_saving.py"):
        loaded(last_two)(np.ones(1))
    assert_serves(last_two, (jnp.arange(5.0),), (jnp.ones(1),), (jnp.arange(3.0),))


def test_sizes_that_are_learnt():
    function = qjit(lambda x, y: jnp.outer(x, y), dynamic_dims="auto")
    calls = [(3, 3), (4, 4), (4, 9), (2, 7)]
    assert_serves(function, *[(jnp.ones(a), jnp.arange(b)) for a, b in calls])
    assert diastase_runtime.load(FILE)(np.ones(11), np.arange(12)).shape == (11, 12)


def test_types_as_text():
    function = qjit(lambda x, k: x["a"] * k)
    saved = loaded(function, types=[({"a": "f32[n, 2]"}, "i32"), {"k": "i64", "x": {"a": "c128"}}])
    assert saved({"a": np.ones((3, 2), np.float32)}, np.int32(2)).shape == (3, 2)
    assert saved(k=2, x={"a": np.complex128(2j)}) == 4j
    with pytest.raises(UnservedArgumentsError):
        saved({"a": np.ones((3, 3), np.float32)}, np.int32(2))
    equal = loaded(qjit(lambda x, y: x + y), types="f64[n], f64[n]")
    with pytest.raises(UnservedArgumentsError, match=r"\(float64\[2\], float64\[3\]\)"):
        equal(np.ones(2), np.ones(3))


@pytest.mark.parametrize("text", ["f63[2]", "f64[2", "f64[-1]", "f64[n+1]", "f64[,]", "x y", ","])
def test_types_that_are_none(text):
    with pytest.raises(InvalidTypesError):
        qjit(lambda x: x).save(FILE, types=text)
    with pytest.raises(InvalidTypesError):
        qjit(lambda x: x).save(FILE, types=3)


def test_what_no_program_takes():
    saved = loaded(qjit(lambda x: x + 1), types="f64[3]")
    wrong = [
        ("text",), (object(),), (), (np.ones(4),), (np.ones(3, ">f8"),), ([1.0, 2.0, 3.0],),
        (np.ma.masked_array(np.ones(3), [True, False, False]),), (np.ones(3, "float32"),), (2.0,),
        (np.ones(3), 1), ({"x": np.ones(3)},), (None,),
    ]  # fmt: skip
    for arguments in wrong:
        with pytest.raises(UnservedArgumentsError, match=r"\(x: float64\[3\]\) -> float64\[3\]"):
            saved(*arguments)
    assert saved(jnp.ones(3)).tolist() == [2.0] * 3  # what has __array__


def test_from_many_threads():
    saved = loaded(qjit(exact, seed=1), types="f64, f64")
    wanted = [exact(0.1 * k, 0.2)[0] for k in range(8)]
    got = {}

    def work(k):
        for _ in range(20):
            got.setdefault(k, set()).add(float(saved(0.1 * k, 0.2)[0]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(values) == 1 for values in got.values())
    assert np.allclose([*map(min, (got[k] for k in range(8)))], wanted)


# --- what cannot be saved -------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass
class Parameters:
    w: object


class Swapped(NamedTuple):
    low: object
    high: object


jax.tree_util.register_pytree_node(
    Swapped, lambda pair: ((pair.high, pair.low), None), lambda _, parts: Swapped(*parts[::-1])
)


def called(function, *arguments, **options):
    compiled = qjit(function, **options)
    compiled(*arguments)
    return compiled


def calling_back(x):
    y = x * 2
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), np.float64), y)


def test_programs_that_call_python_are_refused_at_their_line():
    compiled = called(calling_back, 1.0)
    with pytest.raises(NeedsPythonError) as failure:
        compiled.save(FILE)
    assert failure.value.span.text.startswith("return jax.pure_callback")
    assert not os.path.exists(FILE)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: called(lambda p: p.w, Parameters(jnp.ones(2))), "Parameters"),
        (lambda: called(lambda x: Parameters(x), 1.0), "Parameters"),
        (lambda: called(lambda pair: pair.high - pair.low, Swapped(1.0, 3.0)), "Swapped"),
        (lambda: called(lambda p: p["a"], OrderedDict(a=1.0)), "OrderedDict"),
        (lambda: called(lambda p: p[b"a"], {b"a": 1.0}), "bytes"),
        (lambda: called(jax.random.bits, jax.random.key(1)), "argument key is a key"),
        (lambda: called(jax.grad(lambda n: n * 1.0, allow_int=True), 1), "float0"),
    ],
)
def test_what_no_file_can_hold(make, what):
    with pytest.raises(UnsavableError, match=what):
        make().save(FILE)
    assert not os.path.exists(FILE)


def test_sizes_that_would_have_to_be_solved():
    n = jax.export.symbolic_shape("2*n")[0]
    compiled = qjit(lambda x: x + 1).trace(jax.ShapeDtypeStruct((n,), float)).lower().compile()
    with pytest.raises(UnsavableError, match=r"argument x has the size 2\*n"):
        compiled.save(FILE)


def test_nothing_to_save():
    with pytest.raises(NothingToSaveError):
        qjit(lambda x: x).save(FILE)


def test_settings_of_jax_are_no_arguments():
    function = called(lambda x: jnp.sum(x / 3), jnp.ones(3))
    with jax.enable_x64(False):
        function(jnp.ones(3, jnp.float32))
    assert loaded(function)(np.ones(3, np.float32)).dtype == np.float32
    with jax.default_matmul_precision("highest"):
        function(jnp.ones(3))
    assert loaded(function)(np.ones(3)).dtype == np.float64  # two equal programs are one


# --- writing --------------------------------------------------------------------------------------


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("step", ["fsync", "open"])
def test_a_full_disk_leaves_what_was_there(step, monkeypatch):
    function = called(lambda x: x + 1, 1.0)
    function.save(FILE)
    before = Path(FILE).read_bytes()
    other = called(lambda x: x + 2, 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(file.os, step, full)
        with pytest.raises(SaveError, match="No space left") as failure:
            other.save(FILE)
    assert isinstance(failure.value, OSError)
    assert isinstance(failure.value, DiastaseError)
    assert os.listdir() == [FILE]
    assert Path(FILE).read_bytes() == before


def test_what_is_in_the_place():
    function = called(lambda x: x + 1, 1.0)
    os.mkdir("folder")
    for place in ("folder", "missing/f.diastase", "f" * 300):
        with pytest.raises(SaveError, match=place[:10]):
            function.save(place)
    assert os.listdir() == ["folder"]
    assert os.listdir("folder") == []
    function.save(FILE)
    first = Path(FILE).read_bytes()
    function.save(FILE)
    assert Path(FILE).read_bytes() == first  # equal contents make equal files
    os.symlink(FILE, "link")
    assert diastase_runtime.load("link")(1.0) == 2.0


def test_lines_of_the_user_travel_if_asked_to():
    function = qjit(partial(lambda c, k: circuit()(lambda: (qml.X(k), qml.state())[1])(), 1))
    for sources in (False, True):
        function.save(FILE, types="i64", sources=sources)
        text = Path(FILE).read_bytes()
        assert (b"function = qjit(partial(" in text) is sources
        with pytest.raises(WireOutOfRangeError) as failure:
            diastase_runtime.load(FILE)(7)
        assert failure.value.span.known_text.startswith("function = qjit" if sources else "")
        assert bool(failure.value.span.known_text) is sources
