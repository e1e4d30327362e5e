"""Expanded and collapsed lists of arguments and results.

In Python an array knows its sizes; in a jaxpr each size is a variable that must be passed along. A
list is *collapsed* as the user wrote it, and *expanded* once the sizes of its arrays are prepended,
as *implicit* arguments or results. Binding a nested function goes through both:

    expanded inputs, input type    = expand_arguments(inputs, strategy)       outer scope
    expanded arguments             = initialize_arguments(input type)         inner scope
    arguments                      = collapse(expanded arguments, input type)
    results                        = … the nested function …
    expanded results, output type  = expand_results(expanded arguments, results, strategy)
    expanded outputs               = initialize_results(output type, expanded inputs)   outer scope
    outputs                        = collapse(expanded outputs, output type)

Strategies: `"share"` prepends each size once, so arrays of one size go on sharing it; `"separate"`
prepends a size for each axis: that two were equal is taken to be a coincidence.

The trap: a size that is an argument already is not prepended to the results (`InDBIdx` refers to
it), unless it is *unreferable*, as the arguments of a loop are: the next iteration has others.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from diastase.inspection.explicit_jaxpr.types import (
    Atom,
    DBIdx,
    DShapedArray,
    ExplicitType,
    ExplicitVariable,
    InDBIdx,
    InputType,
    OutDBIdx,
    OutputType,
    Size,
    array_type,
    size_of,
)

Strategy = Literal["share", "separate"]


def expand_arguments(
    arguments: Sequence[Atom], strategy: Strategy = "share"
) -> tuple[tuple[Atom, ...], InputType]:
    """The arguments with their sizes prepended, and the type by which another scope takes them."""
    prepended, positions = _prepend(arguments, strategy, known=())
    implicit = [(_indexed(size.type, ()), False) for size in prepended]
    explicit = [
        (_indexed(argument.type, tuple(map(_as_index(DBIdx, {}), sizes))), True)
        for argument, sizes in zip(arguments, positions, strict=True)
    ]
    return (*prepended, *arguments), (*implicit, *explicit)


def expand_results(
    expanded_arguments: Sequence[Atom],
    results: Sequence[Atom],
    strategy: Strategy = "share",
    unreferable: Collection[Atom] = (),
) -> tuple[tuple[Atom, ...], OutputType]:
    """The results with sizes prepended that are no arguments, and the output type."""
    known = {
        argument: InDBIdx(position)
        for position, argument in reversed(list(enumerate(expanded_arguments)))
        if argument not in unreferable and strategy == "share"
    }
    prepended, positions = _prepend(results, strategy, known)
    implicit = [(_indexed(size.type, ()), False) for size in prepended]
    explicit = [
        (_indexed(result.type, tuple(map(_as_index(OutDBIdx, known), sizes))), True)
        for result, sizes in zip(results, positions, strict=True)
    ]
    return (*prepended, *results), (*implicit, *explicit)


def initialize_arguments(input_type: InputType) -> tuple[ExplicitVariable, ...]:
    """New variables of these types."""
    variables: list[ExplicitVariable] = []
    for type_, _ in input_type:
        variables.append(_variable(type_, variables, ()))
    return tuple(variables)


def initialize_results(
    output_type: OutputType, expanded_inputs: Sequence[Atom]
) -> tuple[ExplicitVariable, ...]:
    """New variables of these types, in the scope of the inputs that they refer to."""
    variables: list[ExplicitVariable] = []
    for type_, _ in output_type:
        variables.append(_variable(type_, variables, expanded_inputs))
    return tuple(variables)


def collapse(expanded: Sequence[Any], type_: InputType | OutputType) -> tuple[Any, ...]:
    """The explicit ones of an expanded list."""
    flags = (is_explicit for _, is_explicit in type_)
    return tuple(atom for atom, is_explicit in zip(expanded, flags, strict=True) if is_explicit)


def input_type(inputs: Sequence[ExplicitVariable], implicit: int) -> InputType:
    """The type of an expanded list of inputs, of which the first ones are not explicit."""
    places = {variable: DBIdx(position) for position, variable in reversed(list(enumerate(inputs)))}
    return tuple(
        (_referring(variable.type, places), position >= implicit)
        for position, variable in enumerate(inputs)
    )


def output_type(
    inputs: Sequence[ExplicitVariable], outputs: Sequence[Atom], implicit: int
) -> OutputType:
    """The type of an expanded list of outputs; sizes among the implicit ones are `OutDBIdx`."""
    places: dict[Any, Any] = {}
    for position, atom in enumerate(outputs[:implicit]):
        places.setdefault(atom, OutDBIdx(position))
    for position, variable in enumerate(inputs):
        places.setdefault(variable, InDBIdx(position))
    for position, atom in enumerate(outputs):
        places.setdefault(atom, OutDBIdx(position))
    return tuple(
        (_referring(atom.type, places), position >= implicit)
        for position, atom in enumerate(outputs)
    )


# --- parts ---------------------------------------------------------------------------------------


def _prepend(
    atoms: Sequence[Atom], strategy: Strategy, known: Collection[Atom] | Mapping[Atom, Any]
) -> tuple[list[Atom], list[list[Any]]]:
    """The sizes to prepend; and each type's sizes: numbers, known ones, `_Prepended(position)`."""
    prepended: list[Atom] = []
    shapes: list[list[Any]] = []
    for atom in atoms:
        shapes.append([])
        for size in atom.type.shape or ():
            if isinstance(size, int) or size in known:
                shapes[-1].append(size)
            elif strategy == "share" and size in prepended:
                shapes[-1].append(_Prepended(prepended.index(size)))
            else:
                shapes[-1].append(_Prepended(len(prepended)))
                prepended.append(size)
    return prepended, shapes


class _Prepended(int):
    """A position among the prepended sizes."""


def _as_index(kind: type, known: Mapping[Atom, Any]) -> Any:
    def index(size: Any) -> Any:
        if isinstance(size, _Prepended):
            return kind(int(size))
        return size if isinstance(size, int) else known[size]

    return index


def _indexed(type_: ExplicitType, shape: Sequence[Any]) -> Any:
    if type_.shape is None:
        return type_.aval
    return DShapedArray(tuple(shape), type_.aval.dtype, type_.aval.weak_type)


def _referring(type_: ExplicitType, places: Mapping[Any, Any]) -> Any:
    """A type whose sizes are positions; KeyError with the size that has none."""
    sizes = type_.shape or ()
    return _indexed(type_, [size if isinstance(size, int) else places[size] for size in sizes])


def _variable(
    type_: Any, before: Sequence[ExplicitVariable], inputs: Sequence[Atom]
) -> ExplicitVariable:
    if not isinstance(type_, DShapedArray):
        return ExplicitVariable(ExplicitType(type_, None))
    shape = tuple(_resolved(size, before, inputs) for size in type_.shape)
    return ExplicitVariable(array_type(shape, type_.dtype, type_.weak_type))


def _resolved(size: Any, before: Sequence[ExplicitVariable], inputs: Sequence[Atom]) -> Size:
    match size:
        case InDBIdx(position):
            return size_of(inputs[position])
        case DBIdx(position) | OutDBIdx(position):
            return before[position]
        case _:
            return size
