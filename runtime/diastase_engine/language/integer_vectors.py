"""Vectors of eight `i64` as instructions. Like `instructions.py`, behind `intrinsics.py`.

Comparisons give sets of eight lanes, as the language has them in double precision.
"""

from typing import Any

from llvmlite import ir

from diastase_engine.language import arithmetic
from diastase_engine.language.arithmetic import convert
from diastase_engine.language.functions import Intrinsic
from diastase_engine.language.instructions import Frame
from diastase_engine.language.types import I64, LANE_SET, V8I
from diastase_engine.language.values import Dynamic


@Intrinsic
def load_integers(frame: Frame, pointer: Dynamic, index: Any) -> Dynamic:
    """Eight numbers from `pointer + index`, which need not be aligned."""
    address = _place(frame, pointer, index)
    return Dynamic(V8I, frame.builder.load(address, typ=V8I.llvm, align=I64.alignment))


@Intrinsic
def store_integers(frame: Frame, pointer: Dynamic, index: Any, numbers: Dynamic) -> None:
    """Write eight numbers to `pointer + index`, which need not be aligned."""
    frame.builder.store(numbers.value, _place(frame, pointer, index), align=I64.alignment)


def _place(frame: Frame, pointer: Dynamic, index: Any) -> ir.Value:
    step = convert(frame.builder, index, I64).value
    return frame.builder.gep(pointer.value, [step], source_etype=I64.llvm)


@Intrinsic
def broadcast_integer(frame: Frame, number: Any) -> Dynamic:
    """One number in all lanes."""
    value = convert(frame.builder, number, I64)
    return Dynamic(V8I, arithmetic.splat(frame.builder, value, V8I.lanes))


@Intrinsic
def lanes_less(frame: Frame, left: Dynamic, right: Dynamic) -> Dynamic:
    """The lanes in which the first number is less."""
    return Dynamic(LANE_SET, frame.builder.icmp_signed("<", left.value, right.value))


@Intrinsic
def lanes_not_less(frame: Frame, left: Dynamic, right: Dynamic) -> Dynamic:
    """The other ones."""
    return Dynamic(LANE_SET, frame.builder.icmp_signed(">=", left.value, right.value))


@Intrinsic
def lanes_after(_frame: Frame, lane: int) -> Dynamic:
    """The lanes after a static one."""
    return Dynamic(LANE_SET, ir.Constant(LANE_SET.llvm, [int(k > lane) for k in range(V8I.lanes)]))


@Intrinsic
def count_lanes(frame: Frame, counts: Dynamic, lanes: Dynamic) -> Dynamic:
    """Counts for each lane, one more in those of a set."""
    ones = frame.builder.zext(lanes.value, V8I.llvm)
    return Dynamic(V8I, frame.builder.add(counts.value, ones))
