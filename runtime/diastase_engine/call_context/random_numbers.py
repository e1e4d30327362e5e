"""Random numbers without hidden state: Philox4x32-10 of Salmon, Moraes, Dror and Shaw,
"Parallel random numbers: as easy as 1, 2, 3" (SC 2011, doi:10.1145/2063384.2063405).

In: the call's seed (the key) and its counter. Out: the k-th number of that seed's stream, the
same on every machine. The authors' known answers are in the tests.
"""  # noqa: D205

from diastase_engine.call_context.records import CallContext
from diastase_engine.language import (
    f64,
    i64,
    kernel,
    ptr,
    shift_right_logical,
    stack_array,
    static,
    to_float,
)

_WORD = 0xFFFFFFFF
_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)


@kernel
def philox(counter: ptr[i64], key_low: i64, key_high: i64) -> None:
    """Encrypt the four 32-bit words of `counter` in place."""
    low, high = key_low, key_high
    for _ in static(range(_ROUNDS)):
        product_low = counter[0] * _MULTIPLIERS[0]
        product_high = counter[2] * _MULTIPLIERS[1]
        first = shift_right_logical(product_high, 32) ^ counter[1] ^ low
        third = shift_right_logical(product_low, 32) ^ counter[3] ^ high
        counter[0], counter[1] = first, product_high & _WORD
        counter[2], counter[3] = third, product_low & _WORD
        low = (low + _WEYL[0]) & _WORD
        high = (high + _WEYL[1]) & _WORD


@kernel
def next_uniform(context: CallContext) -> f64:
    """Return the next number of the call in [0, 1), with 53 random bits."""
    words = stack_array(i64, 4)
    words[0] = context.counter & _WORD
    words[1] = shift_right_logical(context.counter, 32)
    words[2], words[3] = 0, 0
    philox(words, context.seed & _WORD, shift_right_logical(context.seed, 32))
    context.counter += 1
    bits = shift_right_logical((words[1] << 32) | words[0], 11)
    return to_float(bits) * 2.0**-53
