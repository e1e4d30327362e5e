"""What a kernel can do beyond operators: vectors, bits, memory, conversions.

Each name is declared with the signature that kernels see, and built by the function of
`instructions.py` or `concurrency.py` that its decorator names. The bodies of the declarations
never run.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar
from typing import cast as typing_cast

from diastase_engine.language import concurrency, instructions
from diastase_engine.language.functions import Signature
from diastase_engine.language.types import code, f64, i64, lane_set, ptr, v8, vector, wide

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True)
class Intrinsic:
    """A built-in operation of the language."""

    name: str
    build: Callable[..., Any]


def intrinsic(build: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare an operation: the decorated signature is for readers and type checkers."""

    def declare(function: Callable[P, R]) -> Callable[P, R]:
        return typing_cast("Callable[P, R]", Intrinsic(function.__name__, build))

    return declare


@intrinsic(instructions.static)
def static(iterable: Iterable[T]) -> Iterable[T]:
    """Unroll a `for` loop over this while compiling."""
    raise NotImplementedError


@intrinsic(instructions.broadcast)
def broadcast(number: float) -> vector:
    """Return a vector with one number in all lanes."""
    raise NotImplementedError


@intrinsic(instructions.broadcast_wide)
def broadcast_wide(number: float) -> wide:
    """Return a vector of `f64` with one number in all lanes."""
    raise NotImplementedError


@intrinsic(instructions.lane_numbers)
def lane_numbers(numbers: list[float]) -> vector:
    """Return a vector of a static list, one number for each lane."""
    raise NotImplementedError


@intrinsic(instructions.widen)
def widen(numbers: vector) -> wide:
    """Return the numbers as `f64`."""
    raise NotImplementedError


@intrinsic(instructions.pack)
def pack(numbers: Any) -> v8:
    """Return a vector of a static list of eight numbers."""
    raise NotImplementedError


@intrinsic(instructions.shuffle)
def shuffle(vector: T, lanes: list[int]) -> T:
    """Lane `k` of the result is lane `lanes[k]`; `lanes` is static."""
    raise NotImplementedError


@intrinsic(instructions.lanes_match)
def lanes_match(mask: int, value: int) -> lane_set:
    """For each lane number `k`: whether `k & mask == value`."""
    raise NotImplementedError


@intrinsic(instructions.select)
def select(condition: Any, chosen: Any, otherwise: Any) -> Any:
    """One of two values without a branch, lane by lane for a mask; both are evaluated."""
    raise NotImplementedError


@intrinsic(instructions.horizontal_sum)
def horizontal_sum(vector: "v8 | vector | wide") -> float:
    """Sum of the lanes, as `f64`."""
    raise NotImplementedError


@intrinsic(instructions.count_ones)
def count_ones(bits: int) -> int:
    """Count the set bits."""
    raise NotImplementedError


@intrinsic(instructions.count_trailing_zeros)
def count_trailing_zeros(bits: int) -> int:
    """Position of the lowest set bit, 64 where there is none."""
    raise NotImplementedError


@intrinsic(instructions.square_root)
def square_root(number: float) -> float:
    """Square root."""
    raise NotImplementedError


@intrinsic(instructions.shift_right_logical)
def shift_right_logical(bits: int, count: int) -> int:
    """Shift to the right, filling with zeros."""
    raise NotImplementedError


@intrinsic(instructions.to_float)
def to_float(number: int) -> float:
    """Nearest `f64` of an integer."""
    raise NotImplementedError


@intrinsic(instructions.to_integer)
def to_integer(number: Any) -> int:
    """`i64` of a truth value, of a narrower integer, or of an `f64` (rounded towards zero)."""
    raise NotImplementedError


@intrinsic(instructions.prefetch)
def prefetch(pointer: Any) -> None:
    """Begin to fetch what will be read and written soon; any address will do."""
    raise NotImplementedError


@intrinsic(instructions.cast)
def cast(pointer: Any, kind: type[T]) -> T:
    """Return the same address as another pointer type or record."""
    raise NotImplementedError


@intrinsic(instructions.address)
def address(pointer: Any) -> int:
    """Return an address as a number."""
    raise NotImplementedError


@intrinsic(instructions.null)
def null(kind: type[T]) -> T:
    """Return the null pointer of a type."""
    raise NotImplementedError


@intrinsic(instructions.is_null)
def is_null(pointer: Any) -> bool:
    """Whether an address is null."""
    raise NotImplementedError


@intrinsic(instructions.stack_array)
def stack_array(kind: type[T], count: int) -> "ptr[T]":
    """Room for `count` (static) elements until the function returns."""
    raise NotImplementedError


@intrinsic(instructions.registers)
def registers(kind: type[T], count: int) -> list[T]:
    """Return a row of variables, indexed by static integers, that LLVM keeps in registers."""
    raise NotImplementedError


@intrinsic(instructions.load_unaligned)
def load_unaligned(pointer: ptr[f64], index: int) -> v8:
    """Eight numbers from `pointer + index`, which need not be aligned."""
    raise NotImplementedError


@intrinsic(instructions.store_unaligned)
def store_unaligned(pointer: ptr[f64], index: int, vector: "v8 | wide") -> None:
    """Write numbers to `pointer + index`, which need not be aligned."""
    raise NotImplementedError


@intrinsic(concurrency.atomic_add)
def atomic_add(pointer: ptr[i64], change: int) -> int:
    """Add to a number that threads share; returns what it was before."""
    raise NotImplementedError


@intrinsic(concurrency.atomic_load)
def atomic_load(pointer: ptr[i64]) -> int:
    """Return a number that threads share."""
    raise NotImplementedError


@intrinsic(concurrency.atomic_store)
def atomic_store(pointer: ptr[i64], value: int) -> None:
    """Set a number that threads share."""
    raise NotImplementedError


@intrinsic(concurrency.atomic_compare_exchange)
def atomic_compare_exchange(pointer: ptr[i64], expected: int, value: int) -> int:
    """Set a number that threads share if it is `expected`; returns what it was before."""
    raise NotImplementedError


@intrinsic(concurrency.pause)
def pause() -> None:
    """Tell the processor that this loop waits for another thread."""
    raise NotImplementedError


@intrinsic(concurrency.ticks)
def ticks() -> int:
    """Read a clock that costs a few nanoseconds, and whose ticks are about one or less."""
    raise NotImplementedError


@intrinsic(concurrency.code_of)
def code_of(function: Callable[..., Any]) -> code:
    """Address of a kernel."""
    raise NotImplementedError


@intrinsic(concurrency.call_through)
def call_through(function: code, signature: Signature, *arguments: Any) -> Any:
    """Call a function by its address."""
    raise NotImplementedError
