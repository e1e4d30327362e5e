"""`dynamic_dims="auto"`: sizes that change become dynamic; counted, and compared with plain JAX."""

import concurrent.futures
import functools
import io

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diastase import DiastaseError, qjit


class Learning:
    """A function that learns sizes, and the types that it was traced for."""

    def __init__(self, function, **options):
        self.traced = []

        @functools.wraps(function)
        def noted(*args, **kwargs):
            shapes = [str(jnp.shape(leaf)) for leaf in jax.tree.leaves((args, kwargs))]
            self.traced.append("".join(shapes).replace(",)", ")"))
            return function(*args, **kwargs)

        self.function = function
        self.compiled = qjit(noted, dynamic_dims="auto", **options)

    def check(self, *args):
        """Compare a call with plain JAX; what was traced for it."""
        before = len(self.traced)
        theirs = self.function(*jax.tree.map(jnp.asarray, args))
        ours = self.compiled(*args)
        for mine, reference in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            assert mine.shape == jnp.shape(reference)
            np.testing.assert_allclose(mine, reference, rtol=1e-10)
        return self.traced[before:]


def array(*shape):
    return np.arange(1.0, 1 + np.prod(shape)).reshape(shape)


@pytest.mark.parametrize("first", [3, 0, 1])
@pytest.mark.parametrize("second", [8, 0, 1, 2])
def test_the_second_size_is_the_last_compilation(first, second):
    learning = Learning(lambda x: (x * 2, x.sum(), x[: x.shape[0] // 2]))
    assert learning.check(array(first)) == [f"({first})"]
    assert learning.check(array(first)) == []
    if first != second:
        assert learning.check(array(second)) == ["(d0)"]
        for size in (0, 1, 2, 3, 8, 100):
            assert learning.check(array(size)) == []


def test_axes_that_change_together_share_a_symbol():
    learning = Learning(lambda x, y: x + y)
    assert learning.check(array(3), array(3)) == ["(3)(3)"]
    assert learning.check(array(4), array(4)) == ["(d0)(d0)"]
    for size in (0, 1, 2, 100):
        assert learning.check(array(size), array(size)) == []


def test_axes_that_change_at_different_times():
    learning = Learning(lambda x, y: (x.sum(0), y * 2))
    assert learning.check(array(3, 4), array(3)) == ["(3, 4)(3)"]
    assert learning.check(array(3, 5), array(3)) == ["(3, d0)(3)"]
    assert learning.check(array(3, 6), array(3)) == []
    assert learning.check(array(7, 6), array(7)) == ["(d1, d0)(d1)"]
    assert learning.check(array(0, 1), array(0)) == []
    assert learning.check(array(5, 5), array(2)) == ["(d1, d0)(d2)"]
    for shapes in (((3, 4), (5,)), ((1, 1), (1,)), ((0, 9), (7,)), ((2, 2), (2,))):
        assert learning.check(*(array(*shape) for shape in shapes)) == []


def test_sizes_that_were_equal_by_chance():
    learning = Learning(lambda x, y: (x.sum(), y.sum()))
    learning.check(array(3), array(3))
    assert learning.check(array(4), array(4)) == ["(d0)(d0)"]
    assert learning.check(array(4), array(9)) == ["(d0)(d1)"]
    assert learning.check(array(1), array(0)) == []


def test_what_is_not_a_size_starts_anew():
    learning = Learning(lambda tree: jax.tree.map(lambda leaf: leaf * 2, tree))
    learning.check({"a": array(3)})
    assert learning.check({"b": array(4)}) == ["(4)"]
    assert learning.check([array(4)]) == ["(4)"]
    assert learning.check({"a": array(4).astype(np.float32)}) == ["(4)"]
    assert learning.check({"a": array(4, 1)}) == ["(4, 1)"]
    assert learning.check({"a": array(4)}) == ["(d0)"]


def test_static_values_have_families_of_their_own():
    learning = Learning(lambda x, k: x * k, static_argnums=1)
    learning.check(array(3), 2)
    assert learning.check(array(4), 3) == ["(4)3"] or learning.traced[-1].startswith("(4)")
    before = len(learning.traced)
    learning.check(array(4), 2)
    learning.check(array(5), 2)
    assert len(learning.traced) == before + 1


def test_keywords():
    compiled_for = []

    @qjit(dynamic_dims="auto")
    def function(x, *, y):
        compiled_for.append((x.shape, y.shape))
        return x.sum() + y.sum()

    for size in (2, 3, 4, 0):
        assert function(array(2), y=array(size)) == 3 + array(size).sum()
    assert len(compiled_for) == 2


def test_numpy_and_jax_arrays_are_one_family():
    learning = Learning(lambda x: x + 1)
    learning.check(array(3))
    assert learning.check(jnp.asarray(array(4))) == ["(d0)"]
    assert learning.check(array(5)) == []


def test_methods():
    class Model:
        traced = 0

        @qjit(dynamic_dims="auto")
        def __call__(self, x):
            self.traced += 1
            return x.sum()

    one, other = Model(), Model()
    for size in (3, 4, 5, 0):
        assert one(array(size)) == array(size).sum()
    assert (one.traced, other.traced) == (2, 0)
    other(array(7))
    assert (one.traced, other.traced) == (2, 1)


# --- functions that cannot be traced for unknown sizes -------------------------------------------


def unrolled(x):
    return sum(x[i] for i in range(x.shape[0]))


def test_a_function_that_needs_the_size():
    learning = Learning(unrolled)
    assert learning.check(array(3)) == ["(3)"]
    assert learning.check(array(4)) == ["(d0)", "(4)"]
    assert learning.check(array(5)) == ["(5)"]
    assert learning.check(array(4)) == []


def test_a_function_that_needs_small_sizes():
    learning = Learning(lambda x: x.sum() if x.shape[0] >= 4 else unrolled(x) * 1.0)
    assert learning.check(array(5)) == ["(5)"]
    assert learning.check(array(6)) == ["(d0)"]
    for size in (3, 2):
        assert learning.check(array(size)) == ["(d0)", f"({size})"]
    for size in (3, 2, 4, 5, 100):
        assert learning.check(array(size)) == []


def test_a_static_program_with_a_condition_on_a_value():
    """It has nothing to fall back on."""

    def function(x, n):
        a = jnp.ones(n)
        return x.sum() + (a[:2].sum() if a.shape[0] >= 3 else n)

    learning = Learning(function)
    for n in (5, 2, 7, 1, 0):
        assert learning.compiled(array(3), n) == 6 + (2 if n >= 3 else n)


def test_the_error_of_a_call_that_no_program_serves():
    compiled = qjit(lambda x, y: x + y, dynamic_dims="auto")
    for sizes in ((3, 3), (4, 4), (1, 7), (7, 1)):
        compiled(*map(array, sizes))
    for _ in range(2):
        with pytest.raises(
            TypeError, match=r"incompatible shapes for broadcasting: \(4,\), \(5,\)"
        ):
            compiled(array(4), array(5))


def test_only_the_axis_that_must_be_known_stays_static():
    learning = Learning(lambda x: sum(x[i] for i in range(x.shape[0])))
    assert learning.check(array(2, 3)) == ["(2, 3)"]
    assert learning.check(array(2, 4)) == ["(2, d0)"]
    assert learning.check(array(3, 4)) == ["(d1, d0)", "(3, d0)"]
    assert learning.check(array(3, 9)) == []
    assert learning.check(array(4, 9)) == ["(4, d0)"]
    assert learning.check(array(4, 0)) == []


def test_broadcasting_of_ones():
    learning = Learning(lambda x, y: x + y)
    for sizes in ((3, 3), (4, 4), (1, 7), (1, 9), (9, 1), (8, 1), (1, 1), (5, 5), (1, 0)):
        learning.check(*map(array, sizes))
    assert learning.traced[1] == "(d0)(d0)"
    before = len(learning.traced)
    for sizes in ((6, 6), (1, 5), (5, 1), (0, 0)):
        assert learning.check(*map(array, sizes)) == []
    assert len(learning.traced) == before


def test_a_wrong_call_teaches_nothing():
    learning = Learning(lambda x, y: x + y)
    learning.check(array(3), array(3))
    with pytest.raises(TypeError, match="incompatible shapes"):
        learning.compiled(array(4), array(5))
    assert learning.check(array(6), array(6))[-1] == "(d0)(d0)"
    assert learning.check(array(7), array(7)) == []


def test_errors_of_the_user_are_those_of_a_static_trace():
    def function(x):
        if x.ndim == 1:
            raise KeyError(f"size {x.shape[0]}")

    compiled = qjit(function, dynamic_dims="auto")
    for size in (3, 4):
        with pytest.raises(KeyError, match=f"size {size}"):
            compiled(array(size))


# --- with other options --------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, "none"])
def test_by_default_each_size_has_a_program(value):
    count = []

    @qjit(dynamic_dims=value)
    def function(x):
        count.append(1)
        return x + 1

    for size in (3, 4, 5):
        function(array(size))
    assert len(count) == 3


@pytest.mark.parametrize("value", ["all", True, 1, ["auto"]], ids=str)
def test_other_values(value):
    with pytest.raises(ValueError, match="dynamic_dims is") as caught:
        qjit(lambda x: x, dynamic_dims=value)
    assert isinstance(caught.value, DiastaseError)


def test_with_abstracted_axes():
    learning = Learning(lambda x, y: (x @ y, y + 1), abstracted_axes=(("m", "n"), ("n",)))
    assert learning.check(array(2, 3), array(3)) == ["(m, n)(n)"]
    assert learning.check(array(5, 1), array(1)) == []
    learning = Learning(lambda x: x + 1, abstracted_axes=("n",))
    assert learning.check(array(2, 3)) == ["(n, 3)"]
    assert learning.check(array(4, 5)) == ["(n, d0)"]
    assert learning.check(array(0, 0)) == []


def test_with_declared_types():
    count = []

    @qjit(dynamic_dims="auto")
    def function(x: jax.ShapeDtypeStruct((3,), np.float64)):
        count.append(1)
        return x.sum()

    assert function(array(3)) == 6
    with pytest.warns(UserWarning, match="recompiling"):
        assert function(array(4)) == 10
    for size in (0, 1, 100):
        assert function(array(size)) == array(size).sum()
    assert len(count) == 2


def test_clear_cache():
    learning = Learning(lambda x: x + 1)
    for size in (3, 4):
        learning.check(array(size))
    learning.compiled.clear_cache()
    assert learning.check(array(5)) == ["(5)"]
    assert learning.check(array(6)) == ["(d0)"]


def test_reports_what_cannot_be_dynamic():
    log = io.StringIO()
    compiled = qjit(unrolled, dynamic_dims="auto", verbose=True, logfile=log)
    compiled(array(2))
    compiled(array(3))
    assert "cannot be dynamic" in log.getvalue()


def test_threads():
    """Many sizes at once: at most one program for the first, and one for all others."""
    learning = Learning(lambda x: x.sum())

    def call(k):
        return float(learning.compiled(array(k % 7))) == array(k % 7).sum()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(80)))
    assert len(learning.traced) == 2


def test_memory_does_not_grow_with_sizes():
    learning = Learning(lambda x: x)
    argument = np.zeros(5000)
    for size in range(5000):
        learning.compiled(argument[:size])
    assert len(learning.traced) == 2
    assert len(learning.compiled._plans) <= 2500
