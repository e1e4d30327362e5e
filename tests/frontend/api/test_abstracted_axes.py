"""`abstracted_axes`: one program for all sizes of the named axes, against plain JAX."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import DiastaseError, for_loop, qjit

SIZES = [3, 0, 1, 2, 8, 100]
S = jax.ShapeDtypeStruct


def compiled_with_count(function, axes, **options):
    count = []

    @functools.wraps(function)
    def counted(*args, **kwargs):
        count.append(1)
        return function(*args, **kwargs)

    return qjit(counted, abstracted_axes=axes, **options), count


def array(*shape, dtype=np.float64):
    """Numbers that differ, in no order."""
    count = int(np.prod(shape))
    return (
        (np.random.default_rng(count).permutation(count) - count // 3).reshape(shape).astype(dtype)
    )


def assert_same(ours, theirs):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for mine, reference in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (mine.shape, mine.dtype) == (jnp.shape(reference), jnp.result_type(reference))
        np.testing.assert_allclose(mine, reference, rtol=1e-10, atol=1e-12)


def looped(x):
    @for_loop(0, x.shape[0], 1)
    def loop(i, total):
        return total + i * x[i]

    return loop(0.0)


def loop_as_a_sum(x):
    return jnp.sum(jnp.arange(x.shape[0]) * x)


def scanned(x):
    return jax.lax.scan(lambda total, item: (total + item, total * item), 0.0, x)


def shape_as_value(x):
    return x * x.shape[0], x.shape[0]


N = ("n",)
PROGRAMS = {
    "reductions": (lambda x: (x.sum(), x.mean(where=x > 0), jnp.all(x > 0)), N, lambda n: [(n,)]),
    "elementwise": (lambda x: jnp.sin(x) * 2 + x**2, N, lambda n: [(n,)]),
    "matmul": (
        lambda a, b: a @ b,
        (("m", "n"), ("n", "k")),
        lambda n: [(n + 1, n), (n, 2 * n)],
    ),
    "matvec": (lambda a, x: a @ x, (("n", "n"), ("n",)), lambda n: [(n, n), (n,)]),
    "concatenate": (
        lambda x, y: jnp.concatenate([x, y, x]),
        (("m",), ("n",)),
        lambda n: [(n,), (n + 2,)],
    ),
    "sort": (lambda x: (jnp.sort(x), jnp.argsort(-x)), N, lambda n: [(n,)]),
    "cumulative": (lambda x: jnp.cumsum(x), N, lambda n: [(n,)]),
    "scan": (scanned, N, lambda n: [(n,)]),
    "for_loop": ((looped, loop_as_a_sum), N, lambda n: [(n,)]),
    "slices": (lambda x: (x[: x.shape[0] // 2], x[::-1]), N, lambda n: [(n,)]),
    "reshape": (lambda x: x.reshape(-1), ("m", "n"), lambda n: [(n, n + 1)]),
    "transpose": (lambda x: x.T, {1: "n"}, lambda n: [(2, n)]),
    "gradient": (jax.grad(lambda x: jnp.sum(jnp.sin(x) * x)), N, lambda n: [(n,)]),
    "vmap": (
        jax.vmap(lambda row, x: row @ x, (0, None)),
        (("m", "n"), N),
        lambda n: [(2 * n, n), (n,)],
    ),
    "size of an axis": (shape_as_value, N, lambda n: [(n,)]),
    "expressions": (
        lambda x, y: jnp.ones(x.shape[0] + y.shape[0]) + jnp.concatenate([y, x]),
        (("m",), ("n",)),
        lambda n: [(n,), (2 * n,)],
    ),
    "indexed": (lambda x: x.at[: x.shape[0] // 2].add(1.0), N, lambda n: [(n,)]),
    "middle axis": (lambda x: x.sum(1), {1: "n"}, lambda n: [(2, n, 3)]),
    "last axis": (lambda x: x.sum(0), {-1: "n"}, lambda n: [(2, n)]),
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", PROGRAMS)
def test_one_program_for_all_sizes(case):
    function, axes, shapes = PROGRAMS[case]
    function, reference = function if isinstance(function, tuple) else (function, function)
    compiled, count = compiled_with_count(function, axes)
    for size in SIZES:
        arguments = [array(*shape) for shape in shapes(size)]
        assert_same(compiled(*arguments), reference(*map(jnp.asarray, arguments)))
    assert len(count) == 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16, np.complex64, np.bool_])
def test_dtypes(dtype):
    compiled, count = compiled_with_count(lambda x: (x + x, x.sum()), ("n",))
    for size in SIZES:
        argument = array(size, dtype=dtype)
        ours, theirs = compiled(argument), (lambda x: (x + x, x.sum()))(jnp.asarray(argument))
        assert_same(ours, theirs)
    assert len(count) == 1


def test_a_circuit_with_an_angle_for_each_step():
    device = qml.device("lightning.qubit", wires=2)

    def expectation(angles):
        @qml.qnode(device)
        def circuit():
            @for_loop(0, angles.shape[0], 1)
            def loop(i):
                qml.RX(angles[i], wires=0)
                qml.CNOT([0, 1])

            loop()
            return qml.expval(qml.PauliZ(1))

        return circuit()

    @qml.qnode(qml.device("default.qubit", wires=2))
    def reference(angles):
        for angle in angles:
            qml.RX(angle, wires=0)
            qml.CNOT([0, 1])
        return qml.expval(qml.PauliZ(1))

    compiled, count = compiled_with_count(expectation, ("n",))
    for size in (3, 0, 1, 2, 8):
        angles = np.linspace(0.1, 1, size)
        np.testing.assert_allclose(compiled(angles), reference(angles), atol=1e-12)
    assert len(count) == 1


def scaled(x, y):
    return jax.tree.map(lambda leaf: leaf * 2, (x, y))


FORMS = {
    "for all arguments": (("n",), lambda n: (array(n), array(n))),
    "dictionary for all": ({0: "n"}, lambda n: (array(n), array(n, 2))),
    "for each argument": ((("n",), ("m", "n")), lambda n: (array(n), array(n + 1, n))),
    "dictionaries": (({}, {1: "n"}), lambda n: (2.0, array(2, n))),
    "empty tuple": (((), ("n",)), lambda n: (array(2), array(n))),
    "None": ((None, (None, "n")), lambda n: (2.0, array(2, n))),
    "by name": ({"y": ("n",)}, lambda n: (2.0, array(n))),
    "pytree": (
        ({"a": ("n",), "b": ()}, [("m",), {1: "n"}]),
        lambda n: ({"a": array(n), "b": 1.0}, [array(n + 2), array(2, n)]),
    ),
    "one for a pytree": ((("n",), {}), lambda n: ([array(n), (array(n), None)], array(2))),
    "lists of layers": (
        ([(("m", "n"), ("m",))], ("n",)),
        lambda n: ([(array(3, n), array(3))], array(n)),
    ),
    "a name that is no identifier": (("batch size",), lambda n: (array(n), array(n))),
    "names like ours": ((("d1",), ("d0",)), lambda n: (array(n), array(n + 1))),
}


@pytest.mark.sample(7)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_forms(form, convert):
    axes, arguments = FORMS[form]
    compiled, count = compiled_with_count(scaled, axes)
    for size in SIZES:
        given = jax.tree.map(
            lambda leaf: leaf if np.ndim(leaf) == 0 else convert(leaf), arguments(size)
        )
        assert_same(compiled(*given), scaled(*given))
    assert len(count) == 1


def test_keywords_and_defaults():
    compiled, count = compiled_with_count(lambda x, y=2.0, *, z=1.0: x * y * z, (("n",), ()))
    for size in SIZES:
        x = array(size)
        np.testing.assert_array_equal(compiled(x=x), 2 * x)
    assert len(count) == 1
    for size in SIZES:
        np.testing.assert_array_equal(compiled(array(size), z=3.0, y=1.0), 3 * array(size))
    assert len(count) == 2


@pytest.mark.parametrize("axes", [("n",), (("n",),), ((), ("n",))], ids=str)
@pytest.mark.parametrize("static", [{"static_argnums": 0}, {"static_argnames": "k"}], ids=str)
def test_static_arguments(axes, static):
    compiled, count = compiled_with_count(lambda k, x: x * k, axes, **static)
    for size in SIZES:
        np.testing.assert_array_equal(compiled(2, array(size)), 2 * array(size))
    assert len(count) == 1
    np.testing.assert_array_equal(compiled(3, array(5)), 3 * array(5))
    assert len(count) == 2


@pytest.mark.parametrize("axes", [("n",), (("n",),), ((), ("n",))], ids=str)
def test_methods(axes):
    count = []

    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        @qjit(abstracted_axes=axes)
        def __call__(self, x):
            count.append(1)
            return self.factor * x

    double = Scaled(2)
    for size in SIZES:
        np.testing.assert_array_equal(double(array(size)), 2 * array(size))
    assert len(count) == 1


def test_other_arguments_have_programs_of_their_own():
    compiled, count = compiled_with_count(lambda x: x + 1, ("n",))
    for argument in (array(3), array(4, dtype=np.float32), array(2, 2), array(2, 3), array(5, 3)):
        np.testing.assert_array_equal(compiled(argument), argument + 1)
    assert len(count) == 4  # the last axis of (5, 3) is static, the first is not


def test_variadic_arguments():
    compiled, count = compiled_with_count(lambda *xs: sum(x.sum() for x in xs), (("m",), ("n",)))
    for size in SIZES:
        assert compiled(array(size), array(7)) == array(size).sum() + array(7).sum()
    assert len(count) == 1
    with pytest.raises(ValueError, match="has 2 entries"):
        compiled(array(1), array(1), array(1))


# --- sizes that differ ---------------------------------------------------------------------------


def test_equal_names_are_equal_sizes():
    compiled, count = compiled_with_count(lambda x, y: x + y, ("n",))
    for size in SIZES:
        np.testing.assert_array_equal(compiled(array(size), array(size)), 2 * array(size))
    for sizes in ((3, 4), (1, 4), (0, 1)):
        message = f"n is {sizes[0]} by axis 0 of argument x, and {sizes[1]} by axis 0 of argument y"
        with pytest.raises(ValueError, match=message) as caught:
            compiled(*map(array, sizes))
        assert isinstance(caught.value, DiastaseError)
    assert len(count) == 1


def test_different_names_are_different_sizes():
    compiled = qjit(lambda x, y: jnp.outer(x, y).sum(0), abstracted_axes=(("m",), ("n",)))
    for m, n in ((3, 4), (4, 4), (0, 2), (2, 0), (1, 5)):
        np.testing.assert_array_equal(
            compiled(array(m), array(n)), jnp.outer(array(m), array(n)).sum(0)
        )


# --- bad specifications --------------------------------------------------------------------------

AT_DECORATION = {
    "a name": ("n", "abstracted_axes is 'n', no tuple"),
    "a list": ([("n",)], "no tuple or dictionary"),
    "a number as name": ((3,), "has 3 for the name of axis 0"),
    "an empty name": (("",), "has '' for the name of axis 0"),
    "a name as axis": ({"a": "n"}, "has 'a' for the number of an axis"),
    "a name in place of a specification": (("n", ("m",)), r"abstracted_axes\[0\] is 'n'"),
    "a bool as axis": ({True: "n"}, "has True for the number"),
    "deep inside": (({"w": [("n",), 5]},), r"abstracted_axes\[0\]\['w'\]\[1\] is 5"),
}


@pytest.mark.parametrize("case", AT_DECORATION)
def test_no_specification(case):
    axes, message = AT_DECORATION[case]
    with pytest.raises(ValueError, match=message) as caught:
        qjit(scaled, abstracted_axes=axes)
    assert isinstance(caught.value, DiastaseError)


AT_THE_CALL = {
    "no such axis": ({1: "n"}, "axis 1 of argument x .* which it does not have"),
    "negative": ({-2: "n"}, "axis -2 of argument x .* which it does not have"),
    "a scalar": (((), ("n",)), "axis 0 of argument y .* which it does not have"),
    "twice": (({0: "n", -1: "m"}, ()), "names axis -1 of argument x .*, twice"),
    "too few": ((("n",),), "has 1 entries, but scaled takes x, y"),
    "too many": ((("n",), (), ()), "has 3 entries, but scaled takes x, y"),
    "no such parameter": ({"z": ("n",)}, "names 'z', which scaled does not take"),
    "another structure": (([("n",)], ()), "not have the structure of argument x"),
}


@pytest.mark.parametrize("case", AT_THE_CALL)
def test_specifications_that_do_not_fit(case):
    axes, message = AT_THE_CALL[case]
    compiled = qjit(scaled, abstracted_axes=axes)
    for _ in range(2):
        with pytest.raises(ValueError, match=message) as caught:
            compiled(array(3), 2.0)
        assert isinstance(caught.value, DiastaseError)


# --- ahead of time, hints, stages ----------------------------------------------------------------


def test_ahead_of_time():
    function = qjit(lambda x, y: (x @ y, y * x.shape[0]), abstracted_axes=(("m", "n"), ("n",)))
    traced = function.trace(S((2, 3), float), S((3,), float))
    compiled = traced.lower().compile()
    assert str(traced.out_info[0].shape) == "(m,)"
    assert repr(compiled).endswith("(x: float64[m,n], y: float64[n]) -> (float64[m], float64[n])>")
    assert [str(aval.shape) for aval in compiled.in_avals[0]] == ["(m, n)", "(n,)"]
    for size in SIZES:
        x, y = array(size + 1, size), array(size)
        assert_same(compiled(x, y), (x @ y, y * (size + 1)))
    with pytest.raises(
        TypeError,
        match=r"Argument 'y' compiled with float64\[n\] and called with float64\[4\], where n is 3",
    ):
        compiled(array(2, 3), array(4))
    with pytest.raises(ValueError, match="n is 3 by axis 1 of argument x, and 4"):
        function.trace(S((2, 3), float), S((4,), float))


def test_the_explicit_jaxpr_has_implicit_sizes():
    traced = qjit(lambda x, y: (x + 1, y), abstracted_axes=(("n",), ("m", "n"))).trace(
        array(3), array(2, 3)
    )
    printed = """
{ lambda ; a:i64[] b:i64[] c:f64[a] d:f64[b,a]. let
    e:f64[a] = broadcast_in_dim[broadcast_dimensions=() shape=(None,)] 1.0:f64[] a
    f:f64[a] = add c e
  in (f, d) }
"""
    assert str(traced.jaxpr) == printed.strip()
    assert (traced.jaxpr.num_implicit_inputs, traced.jaxpr.num_implicit_outputs) == (2, 0)


def test_costs_and_memory_are_expressions():
    compiled = qjit(lambda x: x + 1, abstracted_axes=("n",)).trace(array(3)).lower().compile()
    assert str(compiled.cost_analysis()["flops"]) == "n"
    memory = compiled.memory_analysis()
    assert str(memory.argument_size_in_bytes) == str(memory.output_size_in_bytes) == "8*n"


def test_declared_types():
    def function(x: S((3,), np.float64), factor: float):
        return x * factor

    compiled, count = compiled_with_count(function, (("n",), ()))
    assert len(count) == 1
    for size in SIZES:
        np.testing.assert_array_equal(compiled(array(size), 2.0), 2 * array(size))
    assert len(count) == 1
    compiled(array(3, dtype=np.float32), 2)  # promoted to what is declared
    assert len(count) == 1
    with pytest.warns(UserWarning, match="recompiling"):
        compiled(array(3, dtype=np.complex128), 2.0)


def test_static_and_abstracted_programs_do_not_mix():
    """Another function of the same body, on the same disk cache, without the option."""
    dynamic, static = qjit(scaled, abstracted_axes=("n",)), qjit(scaled)
    for size in (3, 4):
        assert_same(dynamic(array(size), array(size)), static(array(size), array(size)))


def test_within_another_function():
    inner = qjit(lambda x: x * x.shape[0], abstracted_axes=("n",))
    np.testing.assert_array_equal(qjit(lambda n: inner(jnp.ones(n)))(4), np.full(4, 4.0))
    assert_same(jax.jit(inner)(array(3)), inner(array(3)))  # of the sizes that JAX knows


def test_names_in_errors_about_sizes():
    compiled = qjit(lambda x, y: x + y, abstracted_axes=(("rows",), ("columns",)))
    with pytest.raises(DiastaseError, match=r"\(rows,\), \(columns,\)") as caught:
        compiled(array(3), array(4))
    assert caught.value.span.file == __file__


def test_memory_does_not_grow_with_sizes():
    compiled, count = compiled_with_count(lambda x: x, ("n",))
    argument = np.zeros(5000)
    for size in range(5000):
        compiled(argument[:size])
    assert len(count) == 1
    assert len(compiled._plans) <= 2500
