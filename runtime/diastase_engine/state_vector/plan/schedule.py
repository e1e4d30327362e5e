"""Which waiting operations run together: the greedy pick, for stages and for tiles.

An operation has a *target* bit, whose two amplitudes it mixes (or two such bits, see
`pair_operations`), and *selectors*, which it only reads: its mask, and the target, too, where its
matrices are diagonal. Two operations commute where neither has its target among the other's bits.
`pick` walks through the operations in order and
takes each one that commutes with all that it left behind and whose target is among the bits
allowed, or can be added to them. Selectors may be any bits.
"""

from diastase_engine.language import count_ones, i64, kernel, ptr
from diastase_engine.state_vector.state.records import State
from diastase_engine.state_vector.tiles.plan_records import Plan


@kernel
def list_waiting(state: State, plan: Plan) -> i64:
    """Write the list of live operations and which bits they use; return their number."""
    count: i64 = 0
    for k in range(state.waiting):
        operation = state.operations[k]
        if operation.is_live != 0:
            plan.targets[k] = operation.changes
            plan.selectors[k] = operation.reads
            plan.pending[count] = k
            count += 1
    return count


@kernel
def pick(
    plan: Plan, waiting: ptr[i64], count: i64, size: i64, allowed: i64, picked: ptr[i64]
) -> i64:
    """Move operations from one list to another, with at most `size` bits; return how many.

    Writes `plan.bits`, the allowed bits with those that were added, and `plan.left`.
    """
    bits: i64 = allowed
    room: i64 = size - count_ones(allowed)
    # Bits that an operation which stays behind uses, and those that it has as its target.
    used: i64 = 0
    changed: i64 = 0
    taken: i64 = 0
    left: i64 = 0
    for k in range(count):
        index = waiting[k]
        target = plan.targets[index]
        selectors = plan.selectors[index]
        new = count_ones(target & ~bits)
        if selectors & changed == 0 and target & used == 0 and room >= new:
            bits |= target
            room -= new
            picked[taken] = index
            taken += 1
        else:
            used |= target | selectors
            changed |= target
            waiting[left] = index
            left += 1
    plan.bits = bits
    plan.left = left
    return taken


@kernel
def fill_up(bits: i64, size: i64, available: i64) -> i64:
    """`bits` and the lowest others of `available`, `size` in all."""
    result: i64 = bits
    rest: i64 = available & ~bits
    for _ in range(size - count_ones(bits)):
        result |= rest & -rest
        rest &= rest - 1
    return result


@kernel
def set_places(state: State, plan: Plan, bits: i64) -> None:
    """Number the bits of a stage first, then the others."""
    inside: i64 = 0
    outside: i64 = count_ones(bits)
    for bit in range(state.qubits):
        if (bits >> bit) & 1 == 1:
            plan.place[bit] = inside
            inside += 1
        else:
            plan.place[bit] = outside
            outside += 1
