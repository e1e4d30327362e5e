"""Random bits: `threefry2x32`, behind JAX's default keys, and `rng_bit_generator`, as XLA has it.

JAX's rule for `threefry2x32` on the CPU loops over rounds with arrays as carries, which costs an
array per round; the unrolled form fuses into one pass.

The state of `rng_bit_generator` is two 64-bit words, the key and the counter. Each value of the
counter gives a block of words, and XLA lays the blocks out in a way that belongs to the definition:
Philox (which is also the CPU's default) fills the array with blocks of four words in row-major
order. ThreeFry splits one axis in two: neighbours along it are the two words of one block.
"""

import math
from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir.jax_compat import ir, threefry2x32
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.registry import Equation, lowers


@lowers("threefry2x32")
def lower_threefry2x32(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> list[ir.Value]:
    """Twenty rounds on pairs of words, elementwise."""
    return context.lower_function(threefry2x32, equation.avals_in, operands)


@lowers("iota_2x32_shape")
def lower_iota_2x32_shape(context: LoweringContext, equation: Equation) -> list[ir.Value]:
    """The number of each element in row-major order, in two words: upper and lower bits."""
    shape = equation.avals_out[0].shape
    return context.lower_function(lambda: _counts(shape), [], [])


def _counts(shape: Sequence[Any]) -> tuple[jax.Array, jax.Array]:
    """The two words."""
    if all(isinstance(size, int) for size in shape) and math.prod(shape) <= 2**32:
        return lax.full(shape, 0, np.uint32), _numbers(shape, np.uint32)
    numbers = _numbers(shape, np.uint64)
    return (numbers >> np.uint64(32)).astype(np.uint32), numbers.astype(np.uint32)


def _numbers(shape: Sequence[Any], word: Any) -> jax.Array:
    """The number of each element in row-major order."""
    terms = [
        lax.broadcasted_iota(word, shape, axis)
        * lax.convert_element_type(math.prod(shape[axis + 1 :]), word)
        for axis, size in enumerate(shape)
        if not isinstance(size, int) or size > 1
    ]
    return sum(terms[1:], start=terms[0]) if terms else lax.full(shape, 0, word)


MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
"""Of Philox 4x32."""


@lowers("rng_bit_generator")
def lower_rng_bit_generator(
    context: LoweringContext, equation: Equation, key: ir.Value
) -> list[ir.Value]:
    """The next state, and an array of random bits."""
    key_aval, aval = equation.avals_in[0], equation.avals_out[1]
    if equation.params["algorithm"] == lax.RandomAlgorithm.RNG_THREE_FRY:
        return _lower_threefry(context, equation, key)

    def philox(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = _state(key)
        bits, blocks = _philox_bits(state, math.prod(aval.shape), aval.dtype)
        return _next(key, state, blocks), lax.reshape(bits, aval.shape)

    return context.lower_function(philox, [key_aval], [key])


def _state(key: jax.Array) -> jax.Array:
    """Key and counter; JAX mostly has them as four words of 32 bits."""
    if key.dtype == np.uint64:
        return key
    return lax.bitcast_convert_type(key.reshape(2, 2), np.uint64)


def _next(key: jax.Array, state: jax.Array, blocks: Any) -> jax.Array:
    """The state after so many blocks, in the form of the key; a counter that overflows wraps."""
    counter = state[1] + jnp.asarray(blocks).astype(np.uint64)
    following = jnp.stack([state[0], counter])
    if key.dtype == np.uint64:
        return following
    return lax.bitcast_convert_type(following, np.uint32).reshape(4)


def _halves(wide: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Lower and upper 32 bits."""
    return wide.astype(np.uint32), (wide >> np.uint64(32)).astype(np.uint32)


def _joined(lower: jax.Array, upper: jax.Array) -> jax.Array:
    return lower.astype(np.uint64) | (upper.astype(np.uint64) << np.uint64(32))


def _philox_bits(state: jax.Array, total: Any, dtype: Any) -> tuple[jax.Array, Any]:
    """So many elements as one axis, and how many blocks they took."""
    width = 2 if dtype == np.uint64 else 4
    blocks = (total + (width - 1)) // width
    lower = state[1] + lax.iota(np.uint64, blocks)
    upper = jnp.where(lower < state[1], state[0] + np.uint64(1), state[0])
    words = _philox(_halves(state[0]), [*_halves(lower), *_halves(upper)])
    if width == 2:
        words = [_joined(*words[:2]), _joined(*words[2:])]
    flat = lax.reshape(jnp.stack(words, axis=1), (blocks * width,))
    return lax.slice(flat, (0,), (total,)).astype(dtype), blocks


def _philox(key: Sequence[jax.Array], words: list[jax.Array]) -> list[jax.Array]:
    """Ten rounds on four words each."""
    first, second = key
    for _ in range(ROUNDS):
        products = [
            _halves(word.astype(np.uint64) * np.uint64(multiplier))
            for word, multiplier in zip(words[::2], MULTIPLIERS, strict=True)
        ]
        (lower0, upper0), (lower1, upper1) = products
        words = [upper1 ^ words[1] ^ first, lower1, upper0 ^ words[3] ^ second, lower0]
        first, second = first + np.uint32(KEY_STEPS[0]), second + np.uint32(KEY_STEPS[1])
    return words


# --- ThreeFry -------------------------------------------------------------------------------------


def _lower_threefry(context: LoweringContext, equation: Equation, key: ir.Value) -> list[ir.Value]:
    """Counters and halves of blocks by position, then the words themselves elementwise."""
    key_aval, aval = equation.avals_in[0], equation.avals_out[1]
    wide = aval.dtype == np.uint64

    def threefry(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        sizes = [_word(size) for size in aval.shape]
        split = [np.False_ for _ in sizes] if wide else _split_axis(sizes)
        counters: Any = jnp.zeros(aval.shape, np.uint64)
        is_upper: Any = jnp.zeros(aval.shape, bool)
        blocks: Any = np.uint64(1)
        for axis, (size, flag) in enumerate(zip(sizes, split, strict=True)):
            place = lax.broadcasted_iota(np.uint64, aval.shape, axis)
            if _may_hold(flag):
                is_upper |= flag & (place & np.uint64(1) == 1)
                size = _either(flag, (size + np.uint64(1)) >> np.uint64(1), size)
                place = _either(flag, place >> np.uint64(1), place)
            counters, blocks = counters * size + place, blocks * size
        state = _state(key)
        keys = [jnp.broadcast_to(word, counters.shape) for word in _halves(state[0])]
        lower, upper = threefry2x32(*keys, *_halves(state[1] + counters))
        bits = _joined(lower, upper) if wide else jnp.where(is_upper, upper, lower)
        return _next(key, state, blocks), bits.astype(aval.dtype)

    return context.lower_function(threefry, [key_aval], [key])


def _word(size: Any) -> Any:
    """A size as a number of 64 bits, with which numpy reckons as long as it is known."""
    return np.uint64(size) if isinstance(size, int) else lax.convert_element_type(size, np.uint64)


def _may_hold(flag: Any) -> bool:
    return bool(flag) if isinstance(flag, np.bool_) else True


def _either(flag: Any, if_true: Any, if_false: Any) -> Any:
    """One of two numbers, both of which are computed if the flag is not known."""
    if isinstance(flag, np.bool_):
        return if_true if flag else if_false
    return jnp.where(flag, if_true, if_false)


def _split_axis(sizes: Sequence[Any]) -> list[Any]:
    """For each axis, whether it is the split one: the first even, else the first of the largest."""
    even, flags = [size % np.uint64(2) == 0 for size in sizes], list[Any]()
    for axis, size in enumerate(sizes):
        first_even = [even[axis], *(~other for other in even[:axis])]
        larger = [size > other for other in sizes[:axis]]
        as_large = [size >= other for other in sizes[axis + 1 :]]
        largest = [*(~other for other in even), *larger, *as_large]
        flags.append(reduce(and_, first_even) | reduce(and_, largest))
    return flags
