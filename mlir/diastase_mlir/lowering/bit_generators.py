"""Rule for `rng_bit_generator`: Philox and ThreeFry with XLA's counters, bit for bit.

A state is two 64-bit words, the key and the counter. Each value of the counter gives a block of
words, and XLA lays the blocks out in a way that belongs to the definition: Philox (which is also
the CPU's default) fills the array with blocks of four words in row-major order. ThreeFry splits one
axis in two: neighbours along it are the two words of one block.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from diastase_mlir.emit.operations import (
    all_of,
    compare_integers,
    create,
    index_binary,
    index_constant,
    integer_type,
    negate,
    select,
)
from diastase_mlir.emit.tensors import as_index, generate
from diastase_mlir.jax_internals import ir, threefry2x32
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.registry import Equation, lowers

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
    sizes = [as_index(context.size(size)) for size in aval.shape]
    wide = aval.dtype == np.uint64
    split = [] if wide else _split_axis(sizes)
    halved = [
        select(split[axis], _half(size), size) if split else size for axis, size in enumerate(sizes)
    ]
    number = ir.RankedTensorType.get([], integer_type(64))

    def counter(position: list[ir.Value]) -> ir.Value:
        total = index_constant(0)
        for axis, (size, index) in enumerate(zip(halved, position, strict=True)):
            if split:
                half = index_binary("divsi", index, index_constant(2))
                index = select(split[axis], half, index)
            total = index_binary("addi", index_binary("muli", total, size), index)
        return create("arith.index_cast", [integer_type(64)], [total]).result

    def is_upper(position: list[ir.Value]) -> ir.Value:
        remainder = index_constant(0)
        for flag, index in zip(split, position, strict=False):
            remainder = select(flag, index_binary("remsi", index, index_constant(2)), remainder)
        return compare_integers("eq", remainder, index_constant(1))

    blocks = index_constant(1)
    for size in halved:
        blocks = index_binary("muli", blocks, size)
    count = create("arith.index_cast", [integer_type(64)], [blocks]).result
    known = [context.size(size) for size in aval.shape]
    operands = [
        key,
        generate(known, integer_type(64), counter),
        generate(known, integer_type(1), is_upper),
        create("tensor.from_elements", [number], [count]).result,
    ]

    def threefry(key: Any, counters: Any, uppers: Any, blocks: Any) -> tuple[Any, Any]:
        state = _state(key)
        keys = [jnp.broadcast_to(word, counters.shape) for word in _halves(state[0])]
        lower, upper = threefry2x32(*keys, *_halves(state[1] + counters))
        bits = _joined(lower, upper) if wide else jnp.where(uppers, upper, lower)
        return _next(key, state, blocks), bits.astype(aval.dtype)

    counters = aval.update(dtype=np.dtype(np.uint64))
    avals = [key_aval, counters, aval.update(dtype=np.dtype(bool)), counters.update(shape=())]
    typed = [context.typed(value, one) for value, one in zip(operands, avals, strict=True)]
    return context.lower_function(threefry, avals, typed)


def _half(size: ir.Value) -> ir.Value:
    """Half of a size, rounded up."""
    more = index_binary("addi", size, index_constant(1))
    return index_binary("divsi", more, index_constant(2))


def _split_axis(sizes: Sequence[ir.Value]) -> list[ir.Value]:
    """For each axis, whether it is the split one: the first even, else the first of the largest."""
    even = [
        compare_integers("eq", index_binary("remsi", size, index_constant(2)), index_constant(0))
        for size in sizes
    ]
    flags: list[ir.Value] = []
    for axis, size in enumerate(sizes):
        none_before = [negate(other) for other in even[:axis]]
        first_even = all_of([even[axis], *none_before])
        larger = [compare_integers("sgt", size, other) for other in sizes[:axis]]
        as_large = [compare_integers("sge", size, other) for other in sizes[axis + 1 :]]
        none_even = [negate(other) for other in even]
        largest = all_of([*none_even, *larger, *as_large])
        flags.append(select(first_even, first_even, largest))
    return flags
