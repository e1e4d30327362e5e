"""From the jaxpr of a circuit's body to the items of a picture.

In: a circuit that was traced while somebody watched, and the arguments of the call by name. Out: a
`Picture`. With `unroll` the arguments' values are known: loops whose bounds they give are repeated,
of choices that they decide what is chosen remains; without, they are names.

The trap: equations that change no wire are read as well, as words for what comes after them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, Literal
from pennylane.measurements import MeasurementProcess

from diastase.inspection.pictures.choices import case_titles
from diastase.inspection.pictures.errors import PictureTooLargeError
from diastase.inspection.pictures.items import (
    Branch,
    Item,
    Picture,
    Region,
    Result,
    leaves_of,
)
from diastase.inspection.pictures.labels import process_label
from diastase.inspection.pictures.operations import OPERATIONS, other_operation
from diastase.inspection.pictures.reader import Reader, Reading
from diastase.inspection.pictures.tracers import read_tracer
from diastase.inspection.pictures.words import Term
from diastase.jaxprs.control_flow import LoopOperands
from diastase.primitives.quantum import is_register, touches_register
from diastase.quantum.qnode.circuits import SeenCircuit
from diastase_mlir import user_span

MOST_ITEMS = 10_000
_INDICES = "ijklmnpq"


def read_circuit(seen: SeenCircuit, arguments: Mapping[str, Any], reading: Reading) -> Picture:
    """The picture of a circuit; `arguments`: of the call, by the user's names for them."""
    body, settings = seen.traced.jaxpr, seen.traced.settings
    reader = _Regions(settings.qnode, reading)
    known = arguments if reading.unroll else {}
    for variable, value in zip(body.jaxpr.invars, seen.traced.captured, strict=False):
        read_tracer(reader.words, variable, value, known)
    items = reader.region(body)
    labels = _labels(seen, reader, items)
    reader.positions = {label: row for row, label in enumerate(labels)}
    items, results = reader.with_results(items, seen.processes)
    found = tuple(map(str, labels)), items, results, tuple(reader.matrices.known)
    return Picture(settings.qnode, *found).with_rows(_order(seen, labels))


def _labels(seen: SeenCircuit, reader: "_Regions", items: Sequence[Item]) -> list[Any]:
    """The labels of all wires, in the order of the register."""
    wires = seen.traced.settings.device.wires or seen.traced.circuit.wires.labels
    if wires is not None and len(wires):
        added = (reader.size or len(wires)) - len(wires)
        return [*wires, *(f"aux{number}" for number in range(added))]
    if reader.size:
        return list(range(reader.size))
    named = [wire for leaf in leaves_of(items) for wire in leaf.wires if isinstance(wire, int)]
    return [*range(max(named, default=0) + 1), "…"]  # a traced number of wires


def _order(seen: SeenCircuit, labels: Sequence[Any]) -> list[int]:
    """Rows from the top: those of a device in its order, all others sorted, if they can be."""
    rows = list(range(len(labels)))
    if seen.traced.settings.device.wires is not None:
        return rows
    try:
        return sorted(rows, key=lambda row: (labels[row] == "…", labels[row]))
    except TypeError:
        return rows


class _Regions(Reader):
    """Reads the regions of one circuit."""

    def __init__(self, circuit: str, reading: Reading) -> None:
        super().__init__(reading)
        self.positions: dict[Any, int] = {}
        self._circuit = circuit
        self._depth = self._count = 0
        self._made_up = set[str]()
        """Names of what loops carry, where nobody knows the user's."""
        self._control_flow = {
            "for_loop": self._for_loop,
            "while_loop": self._while_loop,
            "switch": self._switch,
        }

    # --- regions ----------------------------------------------------------------------------------

    def region(self, closed: ClosedJaxpr) -> list[Item]:
        """The items of a region whose inputs have words."""
        for variable, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            self.words.know(variable, value)
        items = list[Item]()
        for equation in closed.jaxpr.eqns:
            items += self._equation(equation)
        return items

    def _equation(self, equation: Any) -> Sequence[Item]:
        name = equation.primitive.name
        if name in self._control_flow:
            found = self._control_flow[name](equation)
        elif touches_register(equation):
            found = OPERATIONS.get(name, other_operation)(self, equation)
        else:
            self.words.read(equation)
            return []
        self._count += len(found)
        self._require_few()
        return found

    def _require_few(self, more: int = 0) -> None:
        if self._count + more > MOST_ITEMS:
            raise PictureTooLargeError(circuit=self._circuit, most=MOST_ITEMS, span=user_span())

    def _for_loop(self, equation: Any) -> Sequence[Item]:
        at, params = LoopOperands.read(equation.invars, equation.params), equation.params
        body: ClosedJaxpr = params["body_jaxpr"]
        bounds = [self.words.value(bound) for bound in at.bounds]
        inputs = body.jaxpr.invars
        first = len(at.constants)
        if self.reading.unroll and all(bound is not None for bound in bounds):
            return self._turns(equation, at, [int(bound) for bound in bounds if bound is not None])
        title = self._range(at.bounds, params["apply_reverse_transform"])
        self.words.bind(inputs[:first], at.constants)
        name = self._name_of(body, first) or _INDICES[self._depth % len(_INDICES)]
        self.words.name(inputs[first], name)
        self._name_carry(body, first + 1)
        self._depth += 1
        items = self.region(body)
        self._depth -= 1
        self._name_results(equation, body, first + 1)
        return [Region((Branch(f"for {name} in {title}", tuple(items)),))] if items else []

    def _turns(self, equation: Any, at: LoopOperands, bounds: Sequence[int]) -> Sequence[Item]:
        lower, upper, step = bounds
        turns = range(lower, upper, step) if step else range(0)
        self._require_few(len(turns))
        body: ClosedJaxpr = equation.params["body_jaxpr"]
        inputs, carry, items = body.jaxpr.invars, list(at.carry), list[Item]()
        first, in_reverse = len(at.constants), equation.params["apply_reverse_transform"]
        for index in reversed(turns) if in_reverse else turns:
            self.words.bind([*inputs[:first], *inputs[first + 1 :]], [*at.constants, *carry])
            self.words.know(inputs[first], np.asarray(index, inputs[first].aval.dtype))
            items += self.region(body)
            carry = body.jaxpr.outvars
        self.words.bind(equation.outvars, carry)
        return items

    def _range(self, bounds: Sequence[Any], in_reverse: bool) -> str:
        lower, upper, step = (self.words.text(bound) for bound in bounds)
        given = [upper] if (lower, step) == ("0", "1") else [lower, upper]
        text = f"range({', '.join(given if step == '1' else [lower, upper, step])})"
        return f"reversed({text})" if in_reverse else text

    def _while_loop(self, equation: Any) -> Sequence[Item]:
        at, params = LoopOperands.read(equation.invars, equation.params), equation.params
        condition, body = params["cond_jaxpr"], params["body_jaxpr"]
        first = len(at.constants)
        self.words.bind(condition.jaxpr.invars, [*at.tested, *at.carry])
        items, carry = list[Item](), list(at.carry)
        while self.reading.unroll and self._holds(condition) is not None:
            if not self._holds(condition):
                self.words.bind(equation.outvars, carry)
                return items
            self.words.bind(body.jaxpr.invars, [*at.constants, *carry])
            items += self.region(body)
            carry = body.jaxpr.outvars
            self.words.bind(condition.jaxpr.invars, [*at.tested, *carry])
            self._count += 1
            if self._count > MOST_ITEMS:
                raise PictureTooLargeError(circuit=self._circuit, most=MOST_ITEMS, span=user_span())
        self.words.bind(body.jaxpr.invars[:first], at.constants)
        names = self._name_carry(body, first)
        self._depth += 1
        inner = self.region(body)
        self._depth -= 1
        title = self._condition(condition, at, body, names)
        self._name_results(equation, body, first)
        return [*items, Region((Branch(f"while {title}", tuple(inner)),))] if inner else items

    def _holds(self, condition: ClosedJaxpr) -> bool | None:
        """Whether a condition holds; None where that is not known."""
        self.region(condition)
        value = self.words.value(condition.jaxpr.outvars[0])
        return None if value is None else bool(value)

    def _condition(
        self, condition: ClosedJaxpr, at: LoopOperands, body: ClosedJaxpr, names: Sequence[str]
    ) -> str:
        """The condition in the words of the body.

        A value without a name is what the body has computed, in terms of what the named ones are by
        then: where it carries whether to go on, that is the condition.
        """
        tested = len(at.tested)
        inputs, results = condition.jaxpr.invars, body.jaxpr.outvars
        named = {
            result: name
            for result, name in zip(results, names, strict=True)
            if name not in self._made_up and not isinstance(result, Literal)
        }
        for result, name in named.items():
            self.words.name(result, name)
        for equation in body.jaxpr.eqns:
            is_classical = equation.primitive.name not in self._control_flow
            if is_classical and named.keys().isdisjoint(equation.outvars):
                if not touches_register(equation):
                    self.words.read(equation)
        self.words.bind(inputs[:tested], at.tested)
        for variable, result, name in zip(inputs[tested:], results, names, strict=True):
            is_unknown = not self._made_up.isdisjoint(self.words.term(result).names)
            if name in self._made_up and not is_unknown:
                self.words.let(variable, result)
            else:
                self.words.name(variable, name)
        self.region(condition)
        return self.words.text(condition.jaxpr.outvars[0])

    def _switch(self, equation: Any) -> Sequence[Item]:
        index, *operands = equation.invars
        branches: Sequence[ClosedJaxpr] = equation.params["branch_jaxprs"]
        chosen = self.words.value(index)
        if chosen is not None:
            body = branches[min(max(int(chosen), 0), len(branches) - 1)]
            self.words.bind(body.jaxpr.invars, operands)
            items = self.region(body)
            self.words.bind(equation.outvars, body.jaxpr.outvars)
            return items
        titles = case_titles(self.words, index, len(branches))
        read, results = list[Branch](), list[list[Term]]()
        for number in sorted(range(len(branches)), key=lambda number: titles[number].order):
            body = branches[number]
            self.words.bind(body.jaxpr.invars, operands)
            items = self.region(body)
            read.append(Branch(titles[number].text, tuple(items)))
            results.append([self.words.term(atom) for atom in body.jaxpr.outvars])
        for variable, *terms in zip(equation.outvars, *results, strict=True):
            self.words.choose(variable, terms)
        return _choice(read)

    # --- names ------------------------------------------------------------------------------------

    def _name_of(self, body: ClosedJaxpr, position: int) -> str | None:
        """What the user calls an input of a region, if that is known."""
        names = body.jaxpr.debug_info.arg_names
        inputs = body.jaxpr.invars
        if names is None or len(names) != len(inputs):
            return None
        found = re.search(r"\['(\w+)'\](?:\[0\])?$|^([A-Za-z]\w*)$", names[position] or "")
        return next(filter(None, found.groups())) if found else None

    def _name_carry(self, body: ClosedJaxpr, first: int) -> list[str]:
        """Name what a loop carries."""
        names = list[str]()
        for position, variable in enumerate(body.jaxpr.invars[first:]):
            name = self._name_of(body, first + position)
            if name is None and not is_register(variable):
                name = f"v{len(self._made_up)}"
                self._made_up.add(name)
            self.words.name(variable, name or "register")
            names.append(name or "register")
        return names

    def _name_results(self, equation: Any, body: ClosedJaxpr, first: int) -> None:
        for variable, carried in zip(equation.outvars, body.jaxpr.invars[first:], strict=True):
            self.words.let(variable, carried)

    # --- results ----------------------------------------------------------------------------------

    def with_results(
        self, items: Sequence[Item], processes: Sequence[MeasurementProcess]
    ) -> tuple[tuple[Item, ...], tuple[Result, ...]]:
        """Split off what is returned, in the user's words where they are known."""
        first = next((k for k, item in enumerate(items) if isinstance(item, Result)), len(items))
        read = [item for item in items[first:] if isinstance(item, Result)]
        named = [self._returned(process) for process in processes]
        if len(named) == len(read):  # which wires traced labels are, is known to the circuit only
            named = [
                Result(result.text, other.wires if "…" in result.wires else result.wires)
                for result, other in zip(named, read, strict=True)
            ]
        return tuple(items[:first]), tuple(named or read)

    def _returned(self, process: MeasurementProcess) -> Result:
        rows = [self.positions.get(label) for label in map(_known, process.wires)]
        return Result(process_label(process), tuple("…" if row is None else row for row in rows))


def _known(label: Any) -> Any:
    """A wire's label; None for a tracer, which cannot be looked up."""
    return None if isinstance(label, Tracer) else label


def _choice(read: Sequence[Branch]) -> list[Item]:
    """A choice between these branches; one within the last branch goes on with it."""
    *others, last = read
    inner = last.items[0] if len(last.items) == 1 else None
    if last.title == "else" and isinstance(inner, Region) and inner.branches[0].title[:3] == "if ":
        first, *more = inner.branches
        return _choice([*others, Branch(f"el{first.title}", first.items), *more])
    branches = read if last.items or last.title != "else" else others
    return [Region(tuple(branches))] if any(branch.items for branch in branches) else []
