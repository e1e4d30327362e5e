"""Functions that lowering defines in the module: what is computed in several places, emitted once.

    func.func private @diastase_function_0(%x: tensor<f64>, %a: tensor<3xf64>) -> tensor<f64>

`call_function` calls the function of a key, which the first call of the key defines. `SharedBodies`
looks, before anything is lowered, for equations whose bodies are the same (equal equations,
settings and constants at the same lines of the user's, by `StructureKeys`), and gives them a key:
`qnode` equations, and control flow over small arrays that is long enough that a call is little
beside it, such as five `expm`, and their derivatives.

A body of which no key can be said stays in place: it calls a Python function, or has a symbolic
size, whose value lies outside of a function. So does one that occurs once, and control flow around
gates, whose registers are no values that a function could take.

The trap: a body must not use values of the program around it, such as sizes, nor write to an array
that it is given; and a call of a body that may fail counts as an operation that may, so that loops
around it watch for errors.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from diastase_mlir.emit.operations import (
    create,
)
from diastase_mlir.jax_compat import equations_in, ir, jaxprs_in
from diastase_mlir.lowering.core.registry import Value
from diastase_mlir.program_keys import StructureKeys

_NUMBERS = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
})  # fmt: skip
"""Of what arrays consist that functions take and return."""

_CONTROL_FLOW = frozenset("cond scan while custom_linear_solve for_loop while_loop switch".split())

LEAST_EQUATIONS = 16
"""Of control flow that is worth a function, with those of the jaxprs in its jaxprs."""

MOST_ELEMENTS = 4096
"""Of all arrays that control flow takes and gives: functions write over none that they take."""


class SharedBodies:
    """The bodies that a program has more than once."""

    def __init__(self, jaxpr: Any):
        self._keys: dict[int, str] = {}
        """By the identity of an equation's parameters, which the program keeps alive."""
        alike: defaultdict[Any, list[Any]] = defaultdict(list)
        for equation in _candidates(jaxpr, {}):
            alike[_outline(equation)].append(equation)
        for equations in alike.values():
            if len(equations) > 1:
                self._compare(equations)

    def _compare(self, equations: Sequence[Any]) -> None:
        """Note the keys of those that are equal; none of the others is worth a key."""
        keys = StructureKeys()
        bodies: defaultdict[str, list[int]] = defaultdict(list)
        for equation in equations:
            key = keys.key(equation.primitive.name, dict(equation.params))
            if key is not None:
                bodies[key].append(id(equation.params))
        for key, equal in bodies.items():
            if len(equal) > 1:
                self._keys.update(dict.fromkeys(equal, key))

    def key_of(self, params: Any) -> str | None:
        """What an equation, by its parameters, has in common with its equals."""
        return self._keys.get(id(params))


def _candidates(jaxpr: Any, lengths: dict[int, int]) -> Iterator[Any]:
    """All equations that may be worth a function, at any depth."""
    for equation in equations_in(jaxpr):
        name = equation.primitive.name
        if name == "qnode" or (name in _CONTROL_FLOW and _is_worthwhile(equation, lengths)):
            yield equation


def _is_worthwhile(equation: Any, lengths: dict[int, int]) -> bool:
    """Whether control flow is long enough for a function, and its arrays small enough."""
    if equation.effects:
        return False
    elements = 0
    for atom in (*equation.invars, *equation.outvars):
        if not _is_of_numbers(atom) or not all(type(size) is int for size in atom.aval.shape):
            return False
        elements += atom.aval.size
    return elements <= MOST_ELEMENTS and _length(equation, lengths) >= LEAST_EQUATIONS


def _length(equation: Any, lengths: dict[int, int]) -> int:
    """How many equations there are in an equation; `lengths` are those of jaxprs."""
    total = 1
    for inner in jaxprs_in(equation.params):
        if id(inner) not in lengths:
            lengths[id(inner)] = sum(_length(nested, lengths) for nested in inner.eqns)
        total += lengths[id(inner)]
    return total


def _is_of_numbers(atom: Any) -> bool:
    return str(getattr(atom.aval, "dtype", "")) in _NUMBERS


def _outline(equation: Any) -> Any:
    """What is seen at once of a body; one that cannot be shared has an outline of its own."""
    if not all(map(_is_of_numbers, (*equation.invars, *equation.outvars))):
        return id(equation)
    jaxprs = jaxprs_in(equation.params)
    inside = [
        (len(jaxpr.eqns), *(nested.primitive.name for nested in jaxpr.eqns[:8])) for jaxpr in jaxprs
    ]
    return equation.primitive.name, *inside


FUNCTION = "diastase_function_"
"""With what the names of functions begin, but for those of elements of a batch."""

Body = Callable[[Sequence[ir.Value]], Sequence[Value]]
"""From operands to results, emitted at the current insertion point."""


@dataclass(frozen=True)
class Function:
    """A function of the module."""

    symbol: str
    operation: ir.Operation
    results: Sequence[ir.Type]
    fallible: int
    """How many operations in it may record an error."""
    equations: Sequence[set[str]]
    """For each equation of the program in it, what computes it."""


def call_function(
    context: Any,
    key: Hashable,
    body: Body,
    operands: Sequence[Value],
    avals: Sequence[Any],
) -> list[ir.Value]:
    """Call the function that computes `body`; `avals` are the types of the operands."""
    values = [
        context.typed(context.value(operand), aval)
        for operand, aval in zip(operands, avals, strict=True)
    ]
    types = [value.type for value in values]
    function = context.functions.get((key, *types))
    if function is None:
        function = define(context, types, body)
        context.functions[key, *types] = function
    else:
        context.failures.fallible += function.fallible
        context.counts.again(function)
    callee = {"callee": ir.FlatSymbolRefAttr.get(function.symbol)}
    return list(create("func.call", function.results, values, callee).results)


def define(
    context: Any,
    arguments: Sequence[ir.Type],
    body: Body,
    prefix: str = FUNCTION,
) -> Function:
    """Emit a function that takes such arguments, and returns what the body gives."""
    symbol = f"{prefix}{next(context.function_numbers)}"
    operation, block = _empty_function(context, symbol, arguments)
    counted, fallible = len(context.counts), context.failures.fallible
    with context.region(block), context.dimensions.only({}):
        results = [context.value(result) for result in body(list(block.arguments))]
        create("func.return", [], results)
    types = [result.type for result in results]
    function_type = ir.FunctionType.get([argument.type for argument in block.arguments], types)
    operation.attributes["function_type"] = ir.TypeAttr.get(function_type)
    equations = context.counts.since(counted)
    return Function(symbol, operation, types, context.failures.fallible - fallible, equations)


def _empty_function(
    context: Any, symbol: str, arguments: Sequence[ir.Type]
) -> tuple[ir.Operation, ir.Block]:
    """A function without results so far, and its block."""
    attributes = {
        "sym_name": ir.StringAttr.get(symbol),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(arguments), [])),
        "sym_visibility": ir.StringAttr.get("private"),
    }
    with ir.InsertionPoint.at_block_begin(context.module_context.module.body):
        operation = create("func.func", [], [], attributes, regions=1)
    locations = [ir.Location.unknown()] * len(arguments)
    return operation, operation.regions[0].blocks.append(*arguments, arg_locs=locations)
