"""Types with symbolic sizes (`jax.export.symbolic_shape`), ahead of time and as type hints."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.export import symbolic_shape

from diastase import DiastaseError, qjit

SIZES = [3, 0, 1, 2, 8, 100]


def S(shape, dtype=np.float64):
    return jax.ShapeDtypeStruct(shape, dtype)


def compiled_for(function, *shapes):
    return qjit(function).trace(*map(S, shapes)).lower().compile()


def test_one_symbol():
    compiled = compiled_for(lambda x: (x * 2, x.sum()), symbolic_shape("n"))
    for size in SIZES:
        doubled, total = compiled(np.arange(float(size)))
        np.testing.assert_array_equal(doubled, 2.0 * np.arange(size))
        assert total == np.arange(size).sum()


def test_symbols_of_two_scopes_are_equal_by_name():
    compiled = compiled_for(lambda x, y: x + y, symbolic_shape("n"), symbolic_shape("n"))
    for size in SIZES:
        np.testing.assert_array_equal(compiled(np.ones(size), np.ones(size)), np.full(size, 2.0))
    with pytest.raises(TypeError, match=r"'y' .* float64\[4\], where n is 3"):
        compiled(np.ones(3), np.ones(4))


EXPRESSIONS = {
    "2*m": lambda m: 2 * m,
    "m + 1": lambda m: m + 1,
    "3*m + 2": lambda m: 3 * m + 2,
    "m": lambda m: m,
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_symbol_that_is_no_axis_itself(expression):
    """Its value is solved for, is known in the program, and sizes without one are refused."""
    size_of = EXPRESSIONS[expression]
    symbolic = symbolic_shape(expression)

    def function(x):
        return x + jnp.ones(symbolic_like(x)), x.shape[0]

    def symbolic_like(x):
        return x.shape

    compiled = compiled_for(function, symbolic)
    sizes = {size_of(m) for m in range(40)}
    for size in range(20):
        if size in sizes:
            result, found = compiled(np.ones(size))
            np.testing.assert_array_equal(result, np.full(size, 2.0))
            assert found == size
        else:
            with pytest.raises(TypeError, match="where no m makes"):
                compiled(np.ones(size))


def test_even_sizes_can_be_halved():
    compiled = compiled_for(lambda x: x.reshape(2, -1).sum(0), symbolic_shape("2*m"))
    for size in SIZES:
        x = np.arange(2.0 * size)
        np.testing.assert_array_equal(compiled(x), x.reshape(2, size).sum(0))


def test_sizes_that_depend_on_one_another():
    n, m = symbolic_shape("n, m")
    traced = qjit(lambda x, y: (x[: y.shape[0]] + y, x * 1)).trace(S((n + 2 * m,)), S((n,)))
    compiled = traced.lower().compile()
    for size_n in (0, 1, 3):
        for size_m in (0, 1, 5):
            x, y = np.arange(float(size_n + 2 * size_m)), np.ones(size_n)
            np.testing.assert_array_equal(compiled(x, y)[0], x[:size_n] + 1)
    with pytest.raises(TypeError, match="where no m makes"):
        compiled(np.ones(4), np.ones(3))
    with pytest.raises(TypeError, match="where no m makes"):
        compiled(np.ones(1), np.ones(3))


def test_products_of_known_symbols():
    n, m = symbolic_shape("n, m")
    compiled = compiled_for(lambda x, y: x + y.reshape(-1), (n * m,), (n, m))
    for shape in ((2, 3), (0, 5), (1, 1), (4, 0)):
        y = np.arange(float(np.prod(shape))).reshape(shape)
        np.testing.assert_array_equal(compiled(y.reshape(-1), y), 2 * y.reshape(-1))
    with pytest.raises(
        TypeError, match=r"'x' .* called with float64\[5\], where m\*n is 6|n\*m is 6"
    ):
        compiled(np.ones(5), np.ones((2, 3)))


def test_the_explicit_jaxpr():
    n = symbolic_shape("n")[0]
    traced = qjit(lambda x: x.reshape(2, -1)).trace(S((2 * n,)))
    printed = """
{ lambda ; a:i64[] b:f64[a]. let
    c:i64[] = floor_divide a 2:i64[]
    d:f64[2,c] = reshape[dimensions=None new_sizes=(2, None) sharding=None] b c
  in (c, d) }
"""
    assert str(traced.jaxpr) == printed.strip()
    assert repr(traced).endswith("(x: float64[2*n]) -> float64[2,n]>")


UNSOLVABLE = ["m*n", "m + n", "m*m", "floordiv(m, 2)", "max(m, 3)", "2*m + m*n"]


@pytest.mark.parametrize("expression", UNSOLVABLE)
def test_sizes_that_do_not_determine_their_symbols(expression):
    with pytest.raises(ValueError, match="of argument x does not determine") as caught:
        qjit(lambda x: x).trace(S(symbolic_shape(expression)))
    assert isinstance(caught.value, DiastaseError)


def test_other_mismatches_come_first():
    compiled = compiled_for(
        lambda x, y: x.sum() + y.sum(), symbolic_shape("n, 3"), symbolic_shape("n")
    )
    with pytest.raises(TypeError) as caught:
        compiled(np.ones((2, 4)), np.ones(2, np.float32))
    assert r"Argument 'x' compiled with float64[n,3] and called with float64[2,4]" in str(
        caught.value
    )
    assert "Argument 'y' compiled with float64[n] and called with float32[2]" in str(caught.value)
    with pytest.raises(
        TypeError, match=r"'x' compiled with float64\[n,3\] and called with float64\[3\]"
    ):
        compiled(np.ones(3), np.ones(2))


def test_type_hints():
    count = []

    @qjit
    def function(x: S(symbolic_shape("n")), y: S(symbolic_shape("2*n"))):
        count.append(1)
        return jnp.concatenate([x, y])

    assert len(count) == 1
    for size in SIZES:
        assert function(np.ones(size), np.ones(2 * size)).shape == (3 * size,)
    assert len(count) == 1
    with pytest.warns(UserWarning, match="recompiling"):
        assert function(np.ones(2), np.ones(3)).shape == (5,)
    assert len(count) == 2
    assert "n" in str(function.trace(S(symbolic_shape("n")), S((4,))).out_info.shape)


def test_lowered_text_and_shapes():
    lowered = qjit(lambda x: x + 1).lower(S(symbolic_shape("n")))
    assert "tensor<?xf64>" in lowered.as_text()
    assert str(qjit(lambda x: (x, x[1:])).eval_shape(S(symbolic_shape("n + 1")))[1].shape) == "(n,)"


def test_a_call_does_not_take_symbolic_types():
    with pytest.raises(TypeError, match="which has no value"):
        qjit(lambda x: x)(S(symbolic_shape("n")))
