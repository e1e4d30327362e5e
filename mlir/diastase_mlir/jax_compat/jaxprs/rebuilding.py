"""Jaxprs rebuilt: other inputs, outputs, constants or shapes. JAX has no public way to any of it.

From jax 0.12 on, there is one class: `ClosedJaxpr` is another name of `Jaxpr`, `jaxpr.jaxpr` is the
jaxpr itself, and its constant variables are those to which values are attached.
"""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jax.core import ShapedArray, eval_context
from jax.extend.core import ClosedJaxpr, DropVar, Literal, Var, new_jaxpr_eqn, no_effects
from jax.lax import convert_element_type_p, copy_p

from diastase_mlir.jax_compat.jaxprs.traversal import is_jaxpr
from diastase_mlir.jax_compat.private import core, discharge
from diastase_mlir.jax_compat.symbolic.dimensions import dimension_symbols, is_symbolic


def without_references(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The same program with its internal mutable arrays (`jax.new_ref`) made plain values.

    `jax.jit` does it on its way to XLA; nothing public does it alone.
    """
    if not any(isinstance(effect, core.InternalMutableArrayEffect) for effect in jaxpr.effects):
        return jaxpr
    return discharge.discharge_state(jaxpr)


def named_axes(found: Iterable[Any]) -> list[str]:
    """The axes of `jax.vmap` whose names are among the effects of an equation or jaxpr."""
    return [str(effect.name) for effect in found if isinstance(effect, core.NamedAxisEffect)]


def symbols_in(parameter: Any) -> set[str]:
    """All dimension symbols in a primitive's parameters, or in a shape; nested jaxprs included."""
    if is_symbolic(parameter):
        return dimension_symbols(parameter)
    if isinstance(parameter, Mapping):
        parameter = tuple(parameter.values())
    if isinstance(parameter, tuple | list):
        return set[str]().union(*map(symbols_in, parameter))
    return symbols_in(_jaxpr_shapes(parameter)) if is_jaxpr(parameter) else set()


def _jaxpr_shapes(jaxpr: Any) -> list[Any]:
    """Shapes of all variables of a jaxpr and parameters of all its equations."""
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    variables = [*inner.constvars, *inner.invars]
    variables += [variable for equation in inner.eqns for variable in equation.outvars]
    shapes = [tuple(getattr(variable.aval, "shape", ())) for variable in variables]
    return [*shapes, *[dict(equation.params) for equation in inner.eqns]]


def map_jaxpr(jaxpr: Any, change: Callable[[Any], Any]) -> Any:
    """The jaxpr with `change` applied to every shape and every parameter.

    There is no public way to rebuild a jaxpr over other shapes.
    """
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    variables: dict[Any, Any] = {}

    def renew(atom: Any) -> Any:
        if isinstance(atom, Literal):
            return atom
        if atom not in variables:
            shape = getattr(atom.aval, "shape", None)
            aval = atom.aval if shape is None else atom.aval.update(shape=change(tuple(shape)))
            variables[atom] = DropVar(aval) if isinstance(atom, DropVar) else Var(aval)
        return variables[atom]

    def changed(equation: Any) -> Any:
        inputs, outputs = (list(map(renew, atoms)) for atoms in (equation.invars, equation.outvars))
        params = change(dict(equation.params))
        if equation.primitive.name == "dim_as_value" and isinstance(params["dim"], int):
            return constant_equation(outputs[0], params["dim"])  # JAX lowers it for symbols only
        return equation.replace(invars=inputs, outvars=outputs, params=params)

    equations = list(map(changed, inner.eqns))
    renewed = inner.replace(
        constvars=[renew(variable) for variable in inner.constvars],
        invars=[renew(variable) for variable in inner.invars],
        outvars=[renew(atom) for atom in inner.outvars],
        eqns=equations,
    )
    return ClosedJaxpr(renewed, jaxpr.consts) if isinstance(jaxpr, ClosedJaxpr) else renewed


def rebuilt(
    closed: ClosedJaxpr, inputs: Sequence[Any], equations: Sequence[Any], outputs: Sequence[Any]
) -> ClosedJaxpr:
    """A jaxpr of other inputs, equations and outputs, without constants; names stay with inputs."""
    found: set[Any] = set()
    for equation in equations:
        found |= equation.effects
    jaxpr = closed.jaxpr
    debug = jaxpr.debug_info.with_unknown_names()
    if jaxpr.debug_info.arg_names is not None:
        names = dict(zip(jaxpr.invars, jaxpr.debug_info.arg_names, strict=False))
        debug = debug._replace(arg_names=tuple(names.get(variable, "") for variable in inputs))
    return ClosedJaxpr(
        jaxpr.replace(
            invars=list(inputs),
            eqns=list(equations),
            outvars=list(outputs),
            effects=found,
            debug_info=debug,
        ),
        (),
    )


def constant_equation(variable: Any, value: Any) -> Any:
    """An equation that gives a variable this value, which is part of it."""
    return copy_equation(variable, Literal(np.asarray(value), variable.aval))


def copy_equation(variable: Any, atom: Any) -> Any:
    """An equation that gives a variable the value of an atom."""
    return new_jaxpr_eqn([atom], [variable], copy_p, {}, no_effects)


def new_equation(
    primitive: Any,
    operands: Sequence[Any],
    results: Sequence[Any],
    params: Mapping[str, Any],
    source_info: Any,
) -> Any:
    """An equation without effects."""
    return new_jaxpr_eqn(
        list(operands), list(results), primitive, dict(params), no_effects, source_info
    )


def new_variable(aval: Any) -> Any:
    """A variable of a jaxpr that is no other one."""
    return Var(aval)


def is_dropped(variable: Any) -> bool:
    """Whether a result of an equation has no variable that could be used."""
    return isinstance(variable, DropVar)


def add_input(closed: ClosedJaxpr, position: int, aval: Any) -> ClosedJaxpr:
    """Add an input of type `aval` at `position`, which nothing uses."""
    jaxpr = closed.jaxpr
    debug = jaxpr.debug_info.with_unknown_names()
    invars = [*jaxpr.invars[:position], Var(aval), *jaxpr.invars[position:]]
    return ClosedJaxpr(jaxpr.replace(invars=invars, debug_info=debug), ())


def drop_leading_register(closed: ClosedJaxpr, position: int) -> ClosedJaxpr:
    """Remove an unused input at `position` that is returned as the first output."""
    jaxpr = closed.jaxpr
    debug = jaxpr.debug_info.with_unknown_names()
    invars = [*jaxpr.invars[:position], *jaxpr.invars[position + 1 :]]
    return ClosedJaxpr(
        jaxpr.replace(invars=invars, outvars=jaxpr.outvars[1:], debug_info=debug), ()
    )


def add_leading_register(closed: ClosedJaxpr, position: int, aval: Any) -> ClosedJaxpr:
    """Add an input of type `aval` at `position` that is returned as the first output."""
    jaxpr = add_input(closed, position, aval).jaxpr
    outvars = [jaxpr.invars[position], *jaxpr.outvars]
    return ClosedJaxpr(
        jaxpr.replace(outvars=outvars, debug_info=jaxpr.debug_info.with_unknown_names()), ()
    )


def close_over(closed: ClosedJaxpr, values: Sequence[Any]) -> ClosedJaxpr:
    """Make the leading inputs of a jaxpr its constants, with these values."""
    jaxpr, count = closed.jaxpr, len(values)
    names = jaxpr.debug_info.arg_names
    debug = jaxpr.debug_info._replace(arg_names=names and names[count:])
    constants, inputs = jaxpr.invars[:count], jaxpr.invars[count:]
    opened = jaxpr.replace(constvars=constants, invars=inputs, debug_info=debug)
    return ClosedJaxpr(opened, list(values))


def convert_outputs(closed: ClosedJaxpr, avals: Sequence[Any]) -> ClosedJaxpr:
    """The jaxpr with its outputs converted to the dtypes and weak types of these, in own shapes.

    Tracing it again would give it other variables, which define no symbols.
    """
    jaxpr = closed.jaxpr
    equations, outputs = list(jaxpr.eqns), list(jaxpr.outvars)
    for position, (output, aval) in enumerate(zip(jaxpr.outvars, avals, strict=True)):
        if not isinstance(aval, ShapedArray):
            continue
        params = {"new_dtype": aval.dtype, "weak_type": aval.weak_type, "sharding": None}
        if (output.aval.dtype, output.aval.weak_type) == (aval.dtype, aval.weak_type):
            continue
        with eval_context():  # sizes of the region are not known, nor checked, outside of it
            converted = Var(output.aval.update(dtype=aval.dtype, weak_type=aval.weak_type))
        equations.append(
            new_jaxpr_eqn([output], [converted], convert_element_type_p, params, no_effects)
        )
        outputs[position] = converted
    return ClosedJaxpr(jaxpr.replace(eqns=equations, outvars=outputs), ())


def select_inputs(
    closed: ClosedJaxpr, positions: Sequence[int], avals: Sequence[Any]
) -> ClosedJaxpr:
    """The jaxpr over more inputs, of these types, of which it uses those at `positions`."""
    jaxpr = closed.jaxpr
    used = dict(zip(positions, jaxpr.invars, strict=True))
    invars = [used.get(position) or Var(aval) for position, aval in enumerate(avals)]
    debug = jaxpr.debug_info.with_unknown_names()
    return ClosedJaxpr(jaxpr.replace(invars=invars, debug_info=debug), ())
