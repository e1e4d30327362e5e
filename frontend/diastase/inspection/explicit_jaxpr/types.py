"""Types of an explicit jaxpr: of variables, and of whole input and output lists.

A variable's type (`ExplicitType`) refers to sizes by variable: `f64[a]`. An *input type* or *output
type* carries types from one scope to another, so sizes there are positions: `DBIdx(k)` is the k-th
input of an input type; in an output type `InDBIdx(k)` is the k-th input and `OutDBIdx(k)` the k-th
output. Beside each type stands whether it is *explicit*: written in the user's Python function
(True), or put in because it is the size of another, or captured (False). JAX uses the flag in this
sense; the text that these words come from does so once, and the other way round elsewhere.

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

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union

import jax.numpy as jnp
from jax.core import ShapedArray

Size = Union[int, "Atom"]


def array_shape(aval: Any) -> tuple[Any, ...] | None:
    """The sizes of an array's axes; None for what is no array, a batch of registers, say."""
    return aval.shape if hasattr(aval, "dtype") else None


@dataclass(frozen=True, eq=False)
class ExplicitType:
    """The type of a variable: `f64[a]`, whose size `a` is another variable.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> jaxpr = qjit(jnp.ones).trace(3).jaxpr
        >>> kind = jaxpr.outputs[-1].type
        >>> print(kind, kind.text(lambda size: "n"), kind.shape == jaxpr.inputs)
        f64[?] f64[n] True

    """

    aval: Any
    """JAX's abstract value, for everything but the sizes."""
    shape: tuple[Size, ...] | None
    """Sizes of the axes; None for what is no array."""

    def __str__(self) -> str:
        """The type with `?` for sizes that are variables, which have no names here."""
        return self.text(lambda _: "?")

    def text(self, name: Callable[["Atom"], str]) -> str:
        """The type as printed.

        Args:
            name: gives the name of a variable that is a size.

        Returns:
            `f64[a,3]`, for example.

        """
        short = self.aval.str_short(short_dtypes=True)
        known = (*(self.shape or ()), *getattr(self.aval, "shape", ()))
        if all(isinstance(size, int) for size in known):
            return short
        sizes = (str(size) if isinstance(size, int) else name(size) for size in self.shape or ())
        return f"{short[: short.index('[')]}[{','.join(sizes)}]"


@dataclass(frozen=True, eq=False)
class ExplicitVariable:
    """A value of the program. Variables are equal if they are the same object.

    Example:
        >>> from diastase.jaxpr import ExplicitVariable, array_type
        >>> print(ExplicitVariable(array_type((3,), "float64")).type)
        f64[3]

    """

    type: ExplicitType


@dataclass(frozen=True, eq=False)
class ExplicitLiteral:
    """A number written out.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> from diastase.jaxpr import explicit_jaxpr
        >>> jaxpr = explicit_jaxpr(qjit(lambda x: 2 * x).trace(1.0).jaxpr)
        >>> float(jaxpr.equations[0].operands[0].value)
        2.0

    """

    value: Any
    type: ExplicitType


Atom = ExplicitVariable | ExplicitLiteral


def size_type() -> ExplicitType:
    """The type of a variable that holds a size."""
    return ExplicitType(ShapedArray((), jnp.result_type(int)), ())


def size_atom(size: Size) -> Atom:
    """A size as an operand: a number becomes a literal."""
    return ExplicitLiteral(size, size_type()) if isinstance(size, int) else size


def size_of(atom: Atom) -> Size:
    """An operand as a size: the literal of an integer becomes a number."""
    if isinstance(atom, ExplicitLiteral) and jnp.issubdtype(atom.type.aval.dtype, jnp.integer):
        return int(atom.value)
    return atom


def array_type(shape: tuple[Size, ...], dtype: Any, weak_type: bool = False) -> ExplicitType:
    """The type of an array over these sizes.

    Args:
        shape: numbers, and variables that hold sizes.
        dtype: of the elements.
        weak_type: whether JAX lets other types win when it promotes.

    Returns:
        An `ExplicitType`.

    Example:
        >>> from diastase.jaxpr import array_type
        >>> print(array_type((2, 3), "float64"))
        f64[2,3]

    """
    known = tuple(size if isinstance(size, int) else 1 for size in shape)
    return ExplicitType(ShapedArray(known, dtype, weak_type=weak_type), shape)


# --- types of input and output lists -------------------------------------------------------------


@dataclass(frozen=True)
class DBIdx:
    """In an input type: the size that is the input at this position.

    Example:
        >>> from diastase.jaxpr import DBIdx, DShapedArray
        >>> print(DShapedArray((DBIdx(0), 3), "float64"))
        f64[DBIdx(0),3]

    """

    val: int


@dataclass(frozen=True)
class InDBIdx:
    """In an output type: the size that is the *input* at this position.

    Example:
        >>> from diastase.jaxpr import DShapedArray, InDBIdx
        >>> print(DShapedArray((InDBIdx(0),), "int64"))
        i64[InDBIdx(0)]

    """

    val: int


@dataclass(frozen=True)
class OutDBIdx:
    """In an output type: the size that is the *output* at this position.

    Example:
        >>> from diastase.jaxpr import DShapedArray, OutDBIdx
        >>> print(DShapedArray((OutDBIdx(1),), "bool"))
        bool[OutDBIdx(1)]

    """

    val: int


@dataclass(frozen=True)
class DShapedArray:
    """An array type whose sizes are numbers, or positions in the list of types it stands in.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> for kind, is_explicit in qjit(jnp.ones).trace(3).jaxpr.out_type:
        ...     print(kind, is_explicit)
        f64[InDBIdx(0)] True

    """

    shape: tuple[int | DBIdx | InDBIdx | OutDBIdx, ...]
    dtype: Any
    weak_type: bool = False

    def __str__(self) -> str:
        """Print as in `f64[DBIdx(0),3]`."""
        short = ShapedArray((), self.dtype).str_short(short_dtypes=True).removesuffix("[]")
        return f"{short}[{','.join(map(_index_text, self.shape))}]"


def _index_text(size: int | DBIdx | InDBIdx | OutDBIdx) -> str:
    return str(size) if isinstance(size, int) else f"{type(size).__name__}({size.val})"


InputType = tuple[tuple[Any, bool], ...]
"""`(DShapedArray, is_explicit)` for each input; other than arrays, JAX's abstract value."""
OutputType = tuple[tuple[Any, bool], ...]
"""`(DShapedArray, is_explicit)` for each output; other than arrays, JAX's abstract value."""


Strategy = Literal["share", "separate"]


def expand_arguments(
    arguments: Sequence[Atom], strategy: Strategy = "share"
) -> tuple[tuple[Atom, ...], InputType]:
    """The arguments of a nested jaxpr with their sizes prepended.

    Args:
        arguments: variables and literals of the scope outside.
        strategy: "share" prepends each size once, "separate" one for each axis.

    Returns:
        The expanded list, and the input type by which the nested scope takes it.

    Example:
        >>> from diastase.jaxpr import ExplicitVariable, array_type, expand_arguments
        >>> size = ExplicitVariable(array_type((), "int64"))
        >>> array = ExplicitVariable(array_type((size,), "float64"))
        >>> expanded, kinds = expand_arguments((array, array))
        >>> expanded == (size, array, array), [str(kind) for kind, _ in kinds]
        (True, ['i64[]', 'f64[DBIdx(0)]', 'f64[DBIdx(0)]'])

    """
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
    """The results of a nested jaxpr, with sizes prepended that are no arguments.

    Args:
        expanded_arguments: the nested scope's, in its expanded list.
        results: variables and literals of the nested scope.
        strategy: "share" refers to arguments, and prepends each other size once; "separate"
            prepends one for each axis.
        unreferable: arguments that results must not refer to, those of a loop.

    Returns:
        The expanded list, and the output type.

    Example:
        >>> from diastase.jaxpr import ExplicitVariable, array_type, expand_results
        >>> size = ExplicitVariable(array_type((), "int64"))
        >>> array = ExplicitVariable(array_type((size,), "float64"))
        >>> expanded, kinds = expand_results((size,), (array,))
        >>> expanded == (array,), [str(kind) for kind, _ in kinds]
        (True, ['f64[InDBIdx(0)]'])

    """
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
    """New variables of these types.

    Args:
        input_type: of an expanded list, as `expand_arguments` gives it.

    Returns:
        A variable for each.

    Example:
        >>> from diastase.jaxpr import DBIdx, DShapedArray, initialize_arguments
        >>> size, array = initialize_arguments(
        ...     ((DShapedArray((), "int64"), False), (DShapedArray((DBIdx(0),), "float64"), True))
        ... )
        >>> array.type.shape == (size,)
        True

    """
    variables: list[ExplicitVariable] = []
    for type_, _ in input_type:
        variables.append(_variable(type_, variables, ()))
    return tuple(variables)


def initialize_results(
    output_type: OutputType, expanded_inputs: Sequence[Atom]
) -> tuple[ExplicitVariable, ...]:
    """New variables of these types, in the scope of the inputs that they refer to.

    Args:
        output_type: of an expanded list, as `expand_results` gives it.
        expanded_inputs: the inputs of the nested jaxpr, in the scope outside.

    Returns:
        A variable for each.

    Example:
        >>> from diastase.jaxpr import DShapedArray, ExplicitVariable, InDBIdx, array_type
        >>> from diastase.jaxpr import initialize_results
        >>> size = ExplicitVariable(array_type((), "int64"))
        >>> (array,) = initialize_results(((DShapedArray((InDBIdx(0),), "bool"), True),), (size,))
        >>> array.type.shape == (size,)
        True

    """
    variables: list[ExplicitVariable] = []
    for type_, _ in output_type:
        variables.append(_variable(type_, variables, expanded_inputs))
    return tuple(variables)


def collapse(expanded: Sequence[Any], type_: InputType | OutputType) -> tuple[Any, ...]:
    """The explicit ones of an expanded list: what the user's Python function takes or returns.

    Args:
        expanded: anything, one for each type.
        type_: the input or output type of the list.

    Returns:
        Those whose types are explicit.

    Example:
        >>> import jax.numpy as jnp
        >>> from diastase import qjit
        >>> from diastase.jaxpr import collapse
        >>> jaxpr = qjit(lambda n: jnp.ones(n + 1)).trace(3).jaxpr
        >>> len(jaxpr.outputs), len(collapse(jaxpr.outputs, jaxpr.out_type))
        (2, 1)

    """
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
