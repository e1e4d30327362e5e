"""Integers of 2 and 4 bits as values inside of a program, against XLA's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import qjit
from diastase_mlir import UnsupportedTypeError

NUMBERS = np.arange(-9, 9)

FUNCTIONS = {
    "arithmetic": lambda x: [x * x + x, x - x[::-1], -x, x // jnp.array(1, x.dtype)],
    "shifts": lambda x: [x << 1, x >> 1, ~x, x ^ x[::-1]],
    "order": lambda x: [jnp.max(x), jnp.min(x), jnp.clip(x, 0, 1)],
    "sums": lambda x: [lax.reduce_sum(x, (0,)), lax.cumsum(x)],
    "places": lambda x: [x[NUMBERS % 5], x.at[2].set(1), jnp.where(x > 0, x, 0), x[::2]],
    "loop": lambda x: lax.fori_loop(0, 5, lambda _, c: c + jnp.ones((), x.dtype), x),
    "branch": lambda x: lax.cond(x[0] > x[1], lambda: x, lambda: -x),
    "mapped": jax.vmap(lambda element: element + element),
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2"])
def test_small_integers_wrap_around_as_in_xla(dtype):
    def program(x):
        small = x.astype(dtype)
        widened = {
            name: [leaf.astype(int) for leaf in jax.tree.leaves(function(small))]
            for name, function in FUNCTIONS.items()
        }
        floats = [small.astype(float), (x * 0.7).astype(dtype).astype(int), small > 0]
        bits = small[: 16 // jnp.iinfo(dtype).bits].reshape(-1, 8 // jnp.iinfo(dtype).bits)
        return widened, floats, lax.bitcast_convert_type(bits, "uint8")

    jax.tree.map(np.testing.assert_array_equal, qjit(program)(NUMBERS), jax.jit(program)(NUMBERS))


def test_products_are_summed_in_the_type_asked_for():
    x = (NUMBERS % 16 - 8).astype("int32")  # XLA has no such products on a CPU

    def product(x):
        return lax.dot(x.astype("int4"), x.astype("int4"), preferred_element_type="int32")

    assert qjit(product)(x) == x @ x


def test_small_integers_stay_inside():
    with pytest.raises(UnsupportedTypeError, match="int4 as arguments or results"):
        qjit(lambda x: x.astype("int4"))(NUMBERS)
