"""From a QNode's body to a stabilizer circuit, and what the body's results are.

In: the jaxpr of a body, traced with noise as `pauli_channel`, and its operands. Out: the `steps` of
the circuit, and a value for each result (`classical` has the kinds). The body is followed as it
would run: loops of known bounds go round, branches that known numbers choose are taken, and gates
under a condition on outcomes become feedback, where the condition is a parity and the gates are
Pauli operators.

What the state is measured for at the end is up to the `Measurements`: shots (`sampling`), or
averages (`averages`).

The trap: in a branch that depends on an outcome everything is read as if it happened; only what is
done to the register must not, so nothing but Pauli operators passes there.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from diastase.capture.device_errors import NotCliffordError
from diastase.primitives.quantum import touches_register
from diastase.quantum.clifford.circuit import StabilizerCircuit
from diastase.quantum.clifford.classical import Classical, construct_of, depends_on_outcomes
from diastase.quantum.clifford.gates import LARGEST, Applied, clifford_gate, of_matrix, pauli_of
from diastase.quantum.clifford.values import (
    ONE,
    ZERO,
    Bits,
    bit,
    chosen,
    constant_of,
    is_known,
    known_bits,
)
from diastase_mlir import at, span_of
from diastase_mlir.jax_compat import source_context

MOST_EQUATIONS = 1 << 20
"""Of a body with its loops unrolled."""
_MOST_WIRES = 1 << 62

REGISTER = object()
"""Stands for the register, of which there is one at any time."""


class Measurements(Protocol):
    """What is made of a measurement of the state."""

    def measure(self, equation: Any, operands: Sequence[Any], reader: "Reader") -> Sequence[Any]:
        """The results of an equation that reads the register."""
        ...


class Reader:
    """Reads one body."""

    def __init__(self, num_wires: int, classical: Classical, measurements: Measurements) -> None:
        self.circuit = StabilizerCircuit(num_wires)
        self.classical = classical
        self.measurements = measurements
        self.postselected: list[int] = []
        """Parities that must be 1."""
        self.condition = ONE
        """A parity: what is done to the register now, is done where it is 1."""
        self._read = 0

    def read(self, closed: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
        """The results of a jaxpr."""
        jaxpr = closed.jaxpr
        values: dict[Any, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        values |= dict(zip(jaxpr.invars, operands, strict=True))

        def value_of(atom: Any) -> Any:
            return atom.val if isinstance(atom, Literal) else values[atom]

        for equation in jaxpr.eqns:
            self._read += 1
            given = [value_of(atom) for atom in equation.invars]
            with at(span_of(equation.source_info)), source_context(equation.source_info):
                if self._read > MOST_EQUATIONS:
                    raise _refused("the circuit", "is too long, with its loops unrolled")
                results = self._equation(equation, given)
            values.update(zip(equation.outvars, results, strict=True))
        return [value_of(atom) for atom in jaxpr.outvars]

    def _equation(self, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        if not touches_register(equation):
            if equation.effects:
                self.require_unconditional(construct_of(equation))
            return self.classical.evaluate(equation, operands)
        rule = _RULES.get(equation.primitive.name)
        if rule is None:
            return self.measurements.measure(equation, operands, self)
        return rule(self, equation, operands)

    # --- operations ---------------------------------------------------------------------------

    def apply(
        self, gates: Sequence[Applied] | None, wires: Sequence[int], name: str, why: str
    ) -> None:
        """Apply gates; where a condition is on outcomes, they must be Pauli operators."""
        if gates is None:
            raise _refused(name, why)
        if self.condition == ONE:
            self.circuit.gates(gates, wires)
            return
        word = pauli_of(gates, len(wires))
        if word is None:
            reason = "depends on an outcome, and only Pauli operators may"
            raise _refused(name, reason, "apply X, Y or Z where an outcome is 1")
        letters = "".join("IXYZ"[code] for code in word)
        if self.condition & ONE:
            self.circuit.gates(gates, wires)
        for number in bits_of(self.condition):
            self.circuit.feedback(letters, wires, number)

    def require_unconditional(self, name: str) -> None:
        """Refuse what outcomes cannot decide about."""
        if self.condition != ONE:
            raise _refused(name, "depends on an outcome, and only Pauli operators may")

    def wires(self, equation: Any, given: Sequence[Any]) -> tuple[int, ...]:
        """The wires of an equation, which must be known."""
        remaining = iter(given)
        name, found = _name(equation), list[int]()
        for wire in equation.params["wires"]:
            value = next(remaining) if wire is None else wire
            if not is_known(value):
                raise _refused(name, "acts on a traced wire", "give it wires that are known")
            found.append(int(value))
        if not all(0 <= wire < self.circuit.num_wires for wire in found):
            reason = f"acts on the wires {found} of {self.circuit.num_wires}"
            raise _refused(name, reason, "use wires of the device")
        if len(set(found)) < len(found):
            raise _refused(name, f"acts on the wires {found}, which repeat", "use distinct wires")
        return tuple(found)

    # --- control flow -------------------------------------------------------------------------

    def branches(self, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """A switch with gates in it."""
        index, given = operands[0], operands[1:]
        branches = equation.params["branch_jaxprs"]
        if is_known(index):
            return self.read(branches[int(index)], given)
        if not isinstance(index, Bits):
            what = "no parity of outcomes" if depends_on_outcomes(index) else "a traced value"
            reason = f"is decided by {what}, with gates in its branches"
            raise _refused("a branch", reason, "let parities of outcomes decide about gates")
        (parity,) = index.parities.flat
        outer = self.condition
        both: list[list[Any]] = []
        for number, branch in enumerate(branches[:2]):
            self.condition = self._conditional(outer, parity if number else parity ^ ONE)
            try:
                both.append(self.read(branch, given))
            finally:
                self.condition = outer
        pairs = zip(*both, equation.outvars, strict=True)
        return [self._chosen(parity, zero, one, variable.aval) for zero, one, variable in pairs]

    def _conditional(self, outer: int, parity: int) -> int:
        if outer == ONE or parity == outer:
            return parity
        if parity == outer ^ ONE:
            return ZERO
        raise _refused("a branch", "depends on two outcomes at once, which is no parity")

    def _chosen(self, parity: int, zero: Any, one: Any, aval: Any) -> Any:
        """What a branch gives, of two."""
        if zero is REGISTER or zero is one:
            return zero
        if all(isinstance(value, Bits) or is_known(value) for value in (zero, one)):
            parities = [v.parities if isinstance(v, Bits) else known_bits(v) for v in (zero, one)]
            if all(each is not None for each in parities):
                found = np.vectorize(lambda a, b: chosen(parity, a, b), otypes=[object])(*parities)
                if all(each is not None for each in found.flat):
                    bits = Bits(np.asarray(found, object).reshape(aval.shape), aval.dtype)
                    constant = constant_of(bits)
                    return bits if constant is None else constant

        def choose(values: Sequence[Any]) -> Sequence[Any]:
            which, if_zero, if_one = values
            return [jnp.where(which, if_one, if_zero)]

        return self.classical.defer(choose, [bit(parity), zero, one], [aval])[0]

    def for_loop(self, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """A loop with gates in it."""
        count = equation.params["body_nconsts"]
        constants, bounds = operands[:count], operands[count : count + 3]
        if not all(map(is_known, bounds)) or not int(bounds[2]):
            raise _refused("a loop", "has traced bounds", "give it bounds that are known")
        carry = list(operands[count + 3 :])
        for index in range(*map(int, bounds)):
            body = equation.params["body_jaxpr"]
            carry = self.read(body, [*constants, np.int64(index), *carry])
        return carry

    def while_loop(self, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """A loop with gates in it that known values end."""
        params = equation.params
        tested, count = params["cond_nconsts"], params["body_nconsts"]
        of_test, of_body = operands[:tested], operands[tested : tested + count]
        carry = list(operands[tested + count :])
        while True:
            (goes_on,) = self.read(params["cond_jaxpr"], [*of_test, *carry])
            if not is_known(goes_on):
                reason = "goes on as long as an outcome or a traced value says so"
                raise _refused("a while loop", reason, "use a for_loop of known bounds")
            if not goes_on:
                return carry
            carry = self.read(params["body_jaxpr"], [*of_body, *carry])


def bits_of(parity: int) -> list[int]:
    """The numbers of the bits that are in a parity."""
    rest, numbers = parity >> 1, list[int]()
    while rest:
        lowest = rest & -rest
        numbers.append(lowest.bit_length() - 1)
        rest ^= lowest
    return numbers


def _refused(construct: str, reason: str, hint: str = "leave it out") -> NotCliffordError:
    return NotCliffordError(construct=construct, reason=reason, hint=hint)


def _name(equation: Any) -> str:
    return equation.params.get("name", construct_of(equation))


# --- rules of primitives ------------------------------------------------------------------------


def _gate(reader: Reader, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    params = equation.params
    count, name = params["num_parameters"], params["name"]
    parameters, values = operands[1 : 1 + count], params["control_values"]
    wires = reader.wires(equation, operands[1 + count :])
    if not all(map(is_known, parameters)):
        hint = "make its parameters known: static arguments of qjit, or numbers"
        raise _refused(name, "has a traced angle", hint)
    angles = tuple(float(parameter) for parameter in parameters)
    gates = clifford_gate(name, angles, len(wires) - len(values), values)
    shown = f"{name}({', '.join(f'{angle:g}' for angle in angles)})" if angles else name
    controlled = f" with {len(values)} controls" if values else ""
    reader.apply(gates, wires, shown + controlled, "is no Clifford gate")
    return [REGISTER]


def _array(reader: Reader, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    name, array = _name(equation), operands[1]
    wires = reader.wires(equation, operands[2:])
    if not is_known(array):
        raise _refused(name, "is a matrix that is traced", "give one that is known")
    matrix = np.asarray(array, np.complex128)
    matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
    if len(wires) > LARGEST:
        raise _refused(name, f"is a matrix on {len(wires)} wires, more than {LARGEST}")
    gates = of_matrix(matrix, equation.params["control_values"])
    reader.apply(gates, wires, name, "is a matrix, and no Clifford gate")
    return [REGISTER]


def _measure(reader: Reader, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    params, wires = equation.params, reader.wires(equation, operands[1:])
    reader.require_unconditional("measure")
    if params["reset"] and params["word"] != "Z":
        raise _refused("measure", "resets a wire that it measures in another basis")
    parity = 2 << reader.circuit.measure(params["word"], wires, params["reset"])
    if params["postselect"] is not None:
        reader.postselected.append(parity ^ (ZERO if params["postselect"] else ONE))
    return [REGISTER, bit(parity)]


def _noise(reader: Reader, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    words = equation.params["words"]
    wires = reader.wires(equation, operands[1 + len(words) :])
    reader.require_unconditional("noise")
    probabilities = operands[1 : 1 + len(words)]
    if any(map(depends_on_outcomes, probabilities)):
        raise _refused("noise", "has a probability that depends on outcomes")
    kept = [pair for pair in zip(words, probabilities, strict=True) if set(pair[0]) != {"I"}]
    if kept:
        reader.circuit.noise([w for w, _ in kept], [p for _, p in kept], wires)
    return [REGISTER]


def _check_wires(reader: Reader, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    reader.wires(equation, operands[1:])
    return [REGISTER]


def _phase(reader: Reader, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    if is_known(operands[1]) and not math.isfinite(float(operands[1])):
        raise _refused("GlobalPhase", "has an angle that is no number")
    return [REGISTER]


def _inlined(reader: Reader, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    return reader.read(equation.params["jaxpr"], operands)


def _same(reader: Reader, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    return [REGISTER for _ in equation.outvars]


_RULES: Mapping[str, Callable[[Reader, Any, Sequence[Any]], Sequence[Any]]] = {
    "allocate_qubits": _same,
    "check_wires": _check_wires,
    "diagonal": _array,
    "follow_script": _same,
    "for_loop": Reader.for_loop,
    "gate": _gate,
    "global_phase": _phase,
    "inlined": _inlined,
    "measure": _measure,
    "pauli_channel": _noise,
    "release_qubits": _same,
    "switch": Reader.branches,
    "unitary": _array,
    "while_loop": Reader.while_loop,
}


def refuse_gate(equation: Any, operands: Sequence[Any]) -> None:
    """Refuse a gate if it is no Clifford gate, with these operands beside the register."""
    rule = _RULES.get(equation.primitive.name)
    if rule is not None and rule in (_gate, _array):
        rule(Reader(_MOST_WIRES, Classical(), _Nothing()), equation, [REGISTER, *operands])


class _Nothing:
    def measure(self, equation: Any, operands: Sequence[Any], reader: Reader) -> Sequence[Any]:
        raise AssertionError(equation)
