"""From a circuit's jaxpr to its module.

    b:f64[] = neg a                           %1 = arith.negf %0 {equation = 0}
    r2:register = gate[RX wires=(0,)] r1 b    %2 = quantum.extract %r, %zero
                                              %3 = quantum.gate "RX"(%1) %2 {site = 1}
    c:f64[4] = probs r2                       %4 = quantum.insert %r, %zero, %3
                                              %5 = "jax.probs"(%4) {equation = 2}

Operations on qubits, loops and branches are written as such; so are numbers that are known, and
negations, by which passes see opposite angles. Any other equation is one opaque operation, named
after its primitive. What an equation closes over, regions use directly.

The trap: equal angles must be one value, or gates do not meet. So equations that are equal are used
as one (`EqualValues`), but all are written: sizes may be known by the variables of each.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr

from diastase_mlir.bindings import ir
from diastase_mlir.circuit_modules.origin import Origin
from diastase_mlir.circuit_modules.types import type_of
from diastase_mlir.circuit_modules.write_control_flow import for_loop, switch, while_loop
from diastase_mlir.circuit_modules.writer import OF_QUBITS, Scope, Writer
from diastase_mlir.emit.operations import create

_RULES = {**OF_QUBITS, "for_loop": for_loop, "while_loop": while_loop, "switch": switch}


def write_circuit(
    closed: ClosedJaxpr,
    known: Mapping[Any, np.ndarray],
    related: Mapping[Any, tuple[Any, bool]],
    ours: frozenset[str],
    name: str,
) -> tuple[ir.Module, Origin]:
    """Write a circuit's body; `known` are inputs whose values are known.

    `related`: inputs that are equal to others before them, or to their opposites.
    `ours`: names of primitives two equal equations of which may give different results.
    """
    origin = Origin()
    module = ir.Module.create(ir.Location.unknown())
    jaxpr = closed.jaxpr
    inputs = [*jaxpr.constvars, *jaxpr.invars]
    with ir.Location.unknown():
        with ir.InsertionPoint(module.body):
            function = create(
                "func.func", attributes={"sym_name": ir.StringAttr.get(name)}, regions=1
            )
        block = function.regions[0].blocks.append(*(type_of(v.aval) for v in inputs))
        with ir.InsertionPoint(block):
            writer = Writer(origin, ours, _RULES)
            scope = Scope()
            for variable, argument in zip(inputs, block.arguments, strict=True):
                value = writer.known_input(variable, known.get(variable))
                scope.values[variable] = argument if value is None else value
                if variable in related:
                    writer.related_input(variable, *related[variable], scope)
                origin.inputs.append(variable)
            writer.equations(jaxpr.eqns, scope)
            results = [writer.value(atom, scope) for atom in jaxpr.outvars]
            create("func.return", operands=results)
    types = [argument.type for argument in block.arguments], [value.type for value in results]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))
    return module, origin
