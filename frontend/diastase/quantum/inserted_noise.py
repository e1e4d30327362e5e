"""Noise put around each operation of a circuit, wherever it stands (`settings.noise_models`).

    r1 = gate[name=RX wires=(0,)] r0 x   ->   r1' = gate[name=RX wires=(0,)] r0 x
                                              r1 = superoperator[wires=(0,)] r1' [matrix]

In: the body of a QNode as a jaxpr, after its passes and after folding, as the device is given it.
Each equation that is a gate is shown to the noise as the operator of PennyLane's that it is; what
that adds is recorded before or after it, in loops and branches, too.

The traps: a channel that the user applied is an operation on its wires, but which one is not known
any more, so no condition of a noise model meets it. And what noise closes over (strengths, arrays)
must come into loops and branches as operands.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import pennylane as qml
from jax.extend.core import ClosedJaxpr, Var

from diastase.capture.device_errors import UnsupportedTransformError
from diastase.capture.pennylane_compat import making_operators
from diastase.capture.quantum_errors import UnsupportedOperationError
from diastase.capture.regions import quantum_scope
from diastase.primitives.define import Role, has_role
from diastase.primitives.quantum import is_register, touches_register
from diastase.quantum.classical_slice import Equation
from diastase.quantum.operators.gate_operands import Controls, Recorder
from diastase.quantum.settings.noise_models import Noise, TracedConditionError
from diastase.quantum.wires import WireMap
from diastase_mlir import at, span_of, word_of
from diastase_mlir.jax_compat import (
    equations_in,
    new_variable,
    rebuilt,
    source_context,
    trace_to_jaxpr,
)

Record = Callable[[Any, Recorder, Controls], None]


def with_noise(
    closed: ClosedJaxpr, captured: Sequence[Any], noise: Noise, circuit: Any
) -> tuple[ClosedJaxpr, list[Any]]:
    """The noisy circuit, and what it closes over, its leading operands."""
    with making_operators(), quantum_scope(None):
        return _with_noise(closed, captured, _Rewriting(noise, circuit))


def _with_noise(
    closed: ClosedJaxpr, captured: Sequence[Any], rewriting: "_Rewriting"
) -> tuple[ClosedJaxpr, list[Any]]:
    region = _Region(rewriting)
    chain = [e for e in closed.jaxpr.eqns if _is_operation(e) and not has_role(e, Role.START)]
    for equation in closed.jaxpr.eqns:
        if chain and equation is chain[0]:
            equation = region.everywhere(equation, closed, "at_start")
        region.append(equation)
        if chain and equation.outvars == chain[-1].outvars:
            region.after_all(closed)
    return region.rebuilt(closed), [*region.captured, *captured]


class _Noisy(Recorder):
    """Records what noise adds."""

    is_outermost = False

    def __init__(self, circuit: Any, register: Any):
        self.circuit, self.wires, self.register = circuit, circuit.wires, register

    def take_snapshot(self, operator: Any) -> None:
        """Noise shows nothing."""

    def run_decomposition(self, function: Callable[[], Any], controls: Controls) -> Any:
        """What a user's function applies."""
        return function()


class _Rewriting:
    """The noise, and how it is recorded."""

    def __init__(self, noise: Noise, circuit: Any):
        self.noise, self.circuit = noise, circuit

    def around(self, operator: Any) -> tuple[list[Any], list[Any]]:
        """What comes before and after an operator."""
        found = self.spread([operator], 0)
        place = next(k for k, one in enumerate(found) if one is operator)
        return found[:place], found[place + 1 :]

    def spread(self, operators: list[Any], first: int) -> list[Any]:
        """What the steps from one on make of operators."""
        try:
            with making_operators():
                for step in self.noise[first:]:
                    operators = [one for operator in operators for one in step.around(operator)]
        except jax.errors.JAXTypeError as error:
            raise UnsupportedTransformError(
                qnode=self.circuit.name, transform="add_noise",
                reason="decides by values that are traced",
            ) from error  # fmt: skip
        except TracedConditionError as error:
            raise UnsupportedTransformError(
                qnode=self.circuit.name, transform="add_noise",
                reason="compares wires, and some are traced",
                instead="use conditions on operators (op_eq, op_in), or make the wires static",
            ) from error  # fmt: skip
        return operators

    def everywhere(self, place: str, labels: Sequence[Any]) -> list[Any]:
        """What is added on these wires before or after everything."""
        found: list[Any] = []
        for number, step in enumerate(self.noise):
            make = getattr(step, place)
            if make is not None:
                with making_operators():
                    made = [one for label in labels for one in make(label)]
                found += self.spread(made, number + 1)
        return found

    def recorded(self, operators: Sequence[Any], register: Any) -> Any:
        """The register after these operators."""
        recorder = _Noisy(self.circuit, register)
        for operator in operators:
            self.circuit.record(operator, recorder, ())
        return recorder.register


class _Region:
    """The equations of a region with noise, one after another."""

    def __init__(self, rewriting: _Rewriting):
        self.rewriting = rewriting
        self.captured: list[Any] = []
        self._constants: list[Any] = []
        self._equations: list[Equation] = []
        self._registers: dict[Any, Any] = {}
        """What to read in the place of a register after which noise has been added."""

    def constant(self, value: Any) -> Any:
        """A leading input of the region for what noise closes over."""
        for number, known in enumerate(self.captured):
            if known is value:
                return self._constants[number]
        self.captured.append(value)
        self._constants.append(new_variable(jax.typeof(value)))
        return self._constants[-1]

    def append(self, equation: Equation) -> None:
        """An equation of the circuit, and the noise around it."""
        equation = self._reading(equation)
        if has_role(equation, Role.CONTROL_FLOW) and touches_register(equation):
            self._equations.append(self._with_noisy_bodies(equation))
        elif equation.primitive.name in _OPERATORS:
            self._with_noise(equation)
        else:
            self._equations.append(equation)

    def _with_noise(self, equation: Equation) -> None:
        def noisy(register: Any, *operands: Any) -> list[Any]:
            operator = _operator(equation, operands, self.rewriting.circuit.wires)
            before, after = self.rewriting.around(operator)
            register = self.rewriting.recorded(before, register)
            register = equation.primitive.bind(register, *operands, **equation.params)
            return [self.rewriting.recorded(after, register)]

        self._inline(noisy, equation, equation.invars, equation.outvars[0])

    def everywhere(self, equation: Equation, closed: ClosedJaxpr, place: str) -> Equation:
        """Noise on all wires before an equation, which then reads another register."""
        if not any(getattr(step, place) for step in self.rewriting.noise):
            return equation
        labels = self._used(closed, equation)
        before = next(atom for atom in equation.invars if is_register(atom))

        def noisy(register: Any) -> list[Any]:
            operators = self.rewriting.everywhere(place, labels)
            return [self.rewriting.recorded(operators, register)]

        after = new_variable(before.aval)
        self._inline(noisy, equation, [before], after)
        self._registers[before] = after
        return equation

    def after_all(self, closed: ClosedJaxpr) -> None:
        """Noise on all wires after the last operation."""
        last = self._equations[-1]
        result = next(atom for atom in last.outvars if is_register(atom))
        if any(step.at_end for step in self.rewriting.noise):
            labels = self._used(closed, last)

            def noisy(register: Any) -> list[Any]:
                operators = self.rewriting.everywhere("at_end", labels)
                return [self.rewriting.recorded(operators, register)]

            after = new_variable(result.aval)
            self._inline(noisy, last, [result], after)
            self._registers[result] = after

    def _used(self, closed: ClosedJaxpr, equation: Equation) -> list[Any]:
        """The wires that a circuit names: all must be known."""
        wires = self.rewriting.circuit.wires
        found: set[int] = set()
        for inner in equations_in(closed, touches_register):
            for own in inner.params.get("wires", ()):
                if own is None:
                    raise UnsupportedOperationError(
                        operation="insert(position='start' or 'end')",
                        reason="needs wires that are known, and the circuit has traced ones",
                        span=span_of(inner.source_info),
                    )
                found.add(own)
            for word in inner.params.get("words", ()):
                found.update(wire for _, wire in word if wire is not None)
            of_all = not {"words", "wires"} & inner.params.keys() or inner.params.get("wires") == ()
            if has_role(inner, Role.MEASUREMENT) and of_all:
                found.update(range(wires.number))
        return [_label(position, wires) for position in sorted(found)]

    def _inline(self, function: Any, equation: Equation, atoms: Sequence[Any], result: Any) -> None:
        """Equations of a function of these atoms, whose only result is this variable."""
        with at(span_of(equation.source_info)), source_context(equation.source_info):
            given = [atom for atom in atoms if isinstance(atom, Var)]

            def of_variables(*values: Any) -> list[Any]:
                known = dict(zip(given, values, strict=True))
                return function(*(known[a] if isinstance(a, Var) else a.val for a in atoms))

            jaxpr, captured = trace_to_jaxpr(of_variables, [a.aval for a in given], "noise")
        inner = jaxpr.jaxpr
        names = dict(zip(inner.invars[: len(captured)], map(self.constant, captured), strict=True))
        names |= dict(zip(inner.invars[len(captured) :], given, strict=True))
        (made,) = inner.outvars
        if made in names:  # nothing happens
            self._registers[result] = names[made]
            return
        for one in inner.eqns:
            self._equations.append(
                one.replace(
                    invars=[names.get(a, a) if isinstance(a, Var) else a for a in one.invars],
                    outvars=[result if v is made else v for v in one.outvars],
                )
            )

    def _with_noisy_bodies(self, equation: Equation) -> Equation:
        rule = _BODIES.get(equation.primitive.name)
        if rule is None:
            raise UnsupportedOperationError(
                operation=equation.primitive.name, reason="cannot be made noisy",
                span=span_of(equation.source_info),
            )  # fmt: skip
        return rule(self, equation)

    def body(self, closed: ClosedJaxpr) -> "_Region":
        """A region inside, made noisy."""
        region = _Region(self.rewriting)
        for equation in closed.jaxpr.eqns:
            region.append(equation)
        return region

    def rebuilt(self, closed: ClosedJaxpr, more: Sequence[Any] | None = None) -> ClosedJaxpr:
        """The region; what noise closes over comes first, or where `more` says so."""
        jaxpr = closed.jaxpr
        outputs = [self._resolved(atom) for atom in jaxpr.outvars]
        inputs = [*self._constants, *jaxpr.invars] if more is None else more
        return rebuilt(closed, inputs, self._equations, outputs)

    def for_loop(self, equation: Equation) -> Equation:
        """Constants come first."""
        params = equation.params
        region = self.body(params["body_jaxpr"])
        changed = {
            "body_jaxpr": region.rebuilt(params["body_jaxpr"]),
            "body_nconsts": params["body_nconsts"] + len(region.captured),
        }
        constants = list(map(self.constant, region.captured))
        return equation.replace(invars=[*constants, *equation.invars], params={**params, **changed})

    def while_loop(self, equation: Equation) -> Equation:
        """Constants of the body come after those of the condition."""
        params, tested = equation.params, equation.params["cond_nconsts"]
        region = self.body(params["body_jaxpr"])
        changed = {
            "body_jaxpr": region.rebuilt(params["body_jaxpr"]),
            "body_nconsts": params["body_nconsts"] + len(region.captured),
        }
        constants = list(map(self.constant, region.captured))
        operands = [*equation.invars[:tested], *constants, *equation.invars[tested:]]
        return equation.replace(invars=operands, params={**params, **changed})

    def switch(self, equation: Equation) -> Equation:
        """All branches take what any of them closes over, after the index."""
        branches = equation.params["branch_jaxprs"]
        regions = [self.body(branch) for branch in branches]
        values: list[Any] = []
        for value in (value for region in regions for value in region.captured):
            if not any(value is known for known in values):
                values.append(value)
        made = tuple(
            region.rebuilt(branch, [*map(region.constant, values), *branch.jaxpr.invars])
            for region, branch in zip(regions, branches, strict=True)
        )
        index, *operands = equation.invars
        return equation.replace(
            invars=[index, *map(self.constant, values), *operands],
            params={**equation.params, "branch_jaxprs": made},
        )

    def _resolved(self, atom: Any) -> Any:
        while isinstance(atom, Var) and atom in self._registers:
            atom = self._registers[atom]
        return atom

    def _reading(self, equation: Equation) -> Equation:
        return equation.replace(invars=[self._resolved(atom) for atom in equation.invars])


_BODIES = {
    "for_loop": _Region.for_loop,
    "while_loop": _Region.while_loop,
    "switch": _Region.switch,
}


def _is_operation(equation: Equation) -> bool:
    return has_role(equation, Role.OPERATION) or (
        has_role(equation, Role.CONTROL_FLOW) and touches_register(equation)
    )


# --- equations as operators ----------------------------------------------------------------------


def _label(position: Any, wires: WireMap) -> Any:
    """The label of a wire; a traced one is its own."""
    if not isinstance(position, int) or wires.labels is None:
        return position
    return wires.labels[position]


def _operator(equation: Equation, operands: Sequence[Any], wires: WireMap) -> Any:
    """The operator of PennyLane's that an equation is."""
    params, make = equation.params, _OPERATORS[equation.primitive.name]
    known = params["wires"]
    count = len(operands) - [*known].count(None)
    traced = iter(operands[count:])
    labels = [next(traced) if w is None else _label(w, wires) for w in known]
    values = params.get("control_values", ())
    targets = len(labels) - len(values)
    with making_operators():
        operator = make(params, operands[:count], labels[:targets])
        if values:
            operator = qml.ctrl(operator, labels[targets:], control_values=list(values))
    return operator


def _named(params: Any, operands: Sequence[Any], wires: Sequence[Any]) -> Any:
    name = params["name"]
    word = word_of(name)
    if word is not None:
        return qml.PauliRot(operands[0], word, wires=wires)
    base = name.removeprefix("Adjoint(").removesuffix(")")
    operator = getattr(qml, base)(*operands, wires=wires)
    return operator if base == name else qml.adjoint(operator)


class AppliedNoise(qml.operation.Operation):
    """A channel, or a density matrix, that a circuit applies itself."""


_OPERATORS: dict[str, Callable[[Any, Sequence[Any], Sequence[Any]], Any]] = {
    "gate": _named,
    "unitary": lambda _, operands, wires: qml.QubitUnitary(operands[0], wires=wires),
    "diagonal": lambda _, operands, wires: qml.DiagonalQubitUnitary(operands[0], wires=wires),
    "superoperator": lambda _, operands, wires: AppliedNoise(wires=wires),
    "kraus": lambda _, operands, wires: AppliedNoise(wires=wires),
}
"""From parameters, operands and targets; preparations have no noise, nor have measurements."""
