"""Mistakes that a compiler engineer could make, one line each: does the campaign find them?

Each gives wrong results for some programs and leaves most as they are; none makes every program
fail. A row says in which file which text, which stands there once, is replaced by which.
"""

from typing import NamedTuple


class Mutant(NamedTuple):
    file: str
    old: str
    new: str


_LOWERING = "mlir/diastase_mlir/lowering"
_PASSES = "mlir/diastase_mlir/passes"
_AUTODIFF = "frontend/diastase/autodiff"
_ENGINE = "runtime/diastase_engine"

MUTANTS = {
    # Lowering.
    "argmax counts from the second": Mutant(
        f"{_LOWERING}/tensor/reductions.py",
        "enumerate(arrays[1:], start=1)",
        "enumerate(arrays[1:])",
    ),
    "the last window does not fit": Mutant(
        f"{_LOWERING}/tensor/indexing.py", '("le", last)', '("lt", last)'
    ),
    "a start may be one too large": Mutant(
        f"{_LOWERING}/tensor/arrays.py",
        'last = on_numbers("maximum", on_numbers("subtract", size, taken), integer_constant(0))',
        'last = on_numbers("maximum", on_numbers("subtract", size, taken), integer_constant(1))',
    ),
    "elements of a batch that are through go on": Mutant(
        f"{_LOWERING}/control_flow.py",
        "_choose(active, one, other, count) for one, other",
        "_choose(active, one, one, count) for one, other",
    ),
    "reset is forgotten": Mutant(
        f"{_LOWERING}/quantum/gates.py",
        '"reset": ir.BoolAttr.get(equation.params["reset"]),',
        '"reset": ir.BoolAttr.get(False),',
    ),
    "letters of words are shifted": Mutant(
        f"{_LOWERING}/quantum/measurement.py",
        "accumulate(len(word) for word in words)",
        "accumulate(1 for _ in words)",
    ),
    # Passes on arrays and buffers.
    "padding covers the first element": Mutant(
        f"{_PASSES}/tensors/arrays_to_loops/moves.py",
        'inside.append(compare_integers("sge", distance, index_constant(0)))',
        'inside.append(compare_integers("sge", distance, index_constant(1)))',
    ),
    "lanes of the last chunk begin anew": Mutant(
        f"{_PASSES}/buffers/reductions_in_lanes.py",
        'is_first = compare_integers("eq", start, index_constant(0))',
        'is_first = compare_integers("sle", start, index_constant(number))',
    ),
    "two results share memory": Mutant(
        f"{_PASSES}/buffers/separate_aliases.py",
        "        if memory not in taken:\n",
        "        if memory not in taken or number > 1:\n",
    ),
    "a scatter writes before the array": Mutant(
        f"{_PASSES}/tensors/arrays_to_loops/indexing.py",
        'for predicate, bound in (("sge", index_constant(0)), ("sle", as_index(last)))',
        'for predicate, bound in (("sge", index_constant(1)), ("sle", as_index(last)))',
    ),
    "differences of indices are sums": Mutant(
        f"{_PASSES}/buffers/index_set_splitting.py",
        'sign = 1 if owner.name == "arith.addi" else -1',
        "sign = 1",
    ),
    "memory is freed before its last use": Mutant(
        f"{_PASSES}/buffers/free_after_last_use.py",
        "return max(found, default=None)",
        "return min(found, default=None)",
    ),
    # Passes on circuits.
    "rotations of different wires are joined": Mutant(
        f"{_PASSES}/circuits/merge_rotations.py",
        "if before is None or form_before(before) != form(gate):",
        "if before is None or form_before(before).name != form(gate).name:",
    ),
    "the phase of a product of rotations": Mutant(
        f"{_PASSES}/circuits/merge_rotations.py",
        "half_sum, half_difference = -cmath.phase(a), -cmath.phase(b)",
        "half_sum, half_difference = -cmath.phase(a), cmath.phase(b)",
    ),
    "a rotation leaves a loop as it is": Mutant(
        f"{_PASSES}/circuits/merge_rotations.py",
        "undone = negate(before[0])",
        "undone = before[0]",
    ),
    "inverse but for the controls": Mutant(
        f"{_PASSES}/circuits/cancel_inverses.py",
        "if one.controls != other.controls or one.targets != other.targets:",
        "if one.targets != other.targets:",
    ),
    "a kicked phase is lost": Mutant(
        f"{_PASSES}/circuits/disentangle_cnot.py",
        'controls is None or states[target] == "+"',
        'controls is None or states[target] in ("+", "-")',
    ),
    "what a loop does to a wire is forgotten": Mutant(
        f"{_PASSES}/circuits/basis_states.py",
        "joined = register.joined(end)",
        "joined = register",
    ),
    # Derivatives.
    "a control value the wrong way round": Mutant(
        f"{_AUTODIFF}/tangents/generators.py",
        "-1.0 if letter and value else 1.0",
        "-1.0 if letter and not value else 1.0",
    ),
    "the derivative of a probability turns sign": Mutant(
        f"{_AUTODIFF}/tangents/measurement_rules.py",
        "change = rotated[:, 0] - rotated[:, 1]",
        "change = rotated[:, 1] - rotated[:, 0]",
    ),
    "a cotangent replaces the sum": Mutant(
        f"{_AUTODIFF}/control_flow/loop_vjp.py",
        "return _added(_added(total, operands[0]), operands[1])",
        "return _added(total, operands[1])",
    ),
    "an update adds to nothing": Mutant(
        f"{_AUTODIFF}/control_flow/loop_vjp.py",
        "bind(total, before + part, *start)",
        "bind(total, part, *start)",
    ),
    "elements of own bounds run one more": Mutant(
        f"{_AUTODIFF}/control_flow/batching.py",
        "goes_on, index = trip < trips,",
        "goes_on, index = trip <= trips,",
    ),
    # Re-rolling.
    "a stretch begins one later": Mutant(
        "mlir/diastase_mlir/rerolling/vectors.py",
        "last = first + step * (length - 1)",
        "last = first + step * (length - 2)",
    ),
    # The engine.
    "a diagonal gate turns back": Mutant(
        f"{_ENGINE}/state_vector/gates/diagonal.py",
        "state.amplitudes[2 * block] = x * a - y * b",
        "state.amplitudes[2 * block] = x * a + y * b",
    ),
    "gates are joined past others": Mutant(
        f"{_ENGINE}/state_vector/operations/fusion.py",
        "if state.last_read[count_trailing_zeros(rest)] > index:",
        "if state.last_read[count_trailing_zeros(rest)] > index + 1:",
    ),
    "a collapse is not normalised": Mutant(
        f"{_ENGINE}/state_vector/measure/outcomes.py",
        "size = 1.0 / square_root(weight_of)",
        "size = square_root(1.0 / weight_of) if outcome == 0 else 1.0",
    ),
    "a density matrix swaps the wrong rows": Mutant(
        f"{_ENGINE}/density_matrix/gates/gate_factors.py",
        "select(shape == SELECTED_THEN_FLIP, row ^ 2, swapped)",
        "select(shape == SELECTED_THEN_FLIP, row ^ 1, swapped)",
    ),
    "trajectories draw the same numbers": Mutant(
        f"{_ENGINE}/state_vector/measure/trajectories.py",
        "words[2], words[3] = member & _WORD, shift_right_logical(member, 32)",
        "words[2], words[3] = (member >> 3) & _WORD, shift_right_logical(member, 32)",
    ),
    "the sign of a cosine": Mutant(
        f"{_ENGINE}/vector_math/trigonometric.py",
        "return _negated_where(value, n + 1)",
        "return _negated_where(value, n - 1)",
    ),
}
