"""What `for_loop`, `while_loop`, `cond` and `switch` refuse inside compiled functions."""

from dataclasses import dataclass
from typing import ClassVar

from diastase_runtime.errors import DiastaseError


@dataclass(eq=False, kw_only=True)
class CarryTypeError(DiastaseError, TypeError):
    """A loop's body changes the type of a value that it carries.

        @for_loop(0, 3, 1)
        def loop(i, x):
            return x / 2        # float64, where x came in as an int64 array

    A compiled loop runs one machine code for all iterations, so each carried value keeps its
    shape and dtype. Start with the final type (`x.astype(float)`), or convert in the body.
    """

    title: ClassVar[str] = "A loop changes the type of a value that it carries"
    message: ClassVar[str] = (
        "{leaf} of {construct} comes in as {type_in}, the body returns it as {type_out}"
    )
    label: ClassVar[str] = "{leaf}: {type_in} -> {type_out}"
    help: ClassVar[str] = "give {leaf} the same shape and dtype before the loop and in its body"
    construct: str
    leaf: str
    type_in: str
    type_out: str


@dataclass(eq=False, kw_only=True)
class ResizingError(CarryTypeError):
    """A loop changes the shape of a carried array, as `allow_array_resizing=True` would allow.

    Arrays that grow or shrink from one iteration to the next cannot be compiled yet. Carry an
    array of the final size together with the number of elements in use.
    """

    title: ClassVar[str] = "Resizing arrays in loops is not possible yet"
    help: ClassVar[str] = "carry an array of the largest size and a count of the elements in use"


@dataclass(eq=False, kw_only=True)
class CarryStructureError(DiastaseError, TypeError):
    """A loop's body returns other values than it takes, or in another structure.

    The body takes the carried values (after the index, in `for_loop`) and returns the same
    number of values, each with the structure it came in with: same tuples, same dictionary keys.
    """

    title: ClassVar[str] = "A loop's body must return what it takes"
    message: ClassVar[str] = "the body of {construct} takes {taken} and returns {returned}"
    label: ClassVar[str] = "structure changes"
    construct: str
    taken: str
    returned: str


@dataclass(eq=False, kw_only=True)
class LoopConditionError(DiastaseError, TypeError):
    """The condition of a `while_loop` does not return a single boolean.

    Compare (`x > 0`), or reduce an array with `jnp.any` or `jnp.all`. Gates and measurements
    belong into the body.
    """

    title: ClassVar[str] = "The condition of a while_loop must be a boolean scalar"
    message: ClassVar[str] = "it {found}"
    label: ClassVar[str] = "condition"
    found: str


@dataclass(eq=False, kw_only=True)
class LoopBoundError(DiastaseError, TypeError):
    """A bound or the step of a `for_loop` is not an integer scalar, or its type cannot hold it."""

    title: ClassVar[str] = "Bounds and step of a for_loop are integers"
    message: ClassVar[str] = "{reason}"
    label: ClassVar[str] = "not usable as a range"
    reason: str


@dataclass(eq=False, kw_only=True)
class PredicateError(DiastaseError, TypeError):
    """The predicate of a `cond`, or the index of a `switch`, is not a single number.

    Reduce an array with `jnp.any` or `jnp.all`, or index one of its elements.
    """

    title: ClassVar[str] = "{what} is not a scalar"
    message: ClassVar[str] = "it is {found}"
    label: ClassVar[str] = "needs one value"
    what: str
    found: str


@dataclass(eq=False, kw_only=True)
class BranchStructureError(DiastaseError, TypeError):
    """The branches of a `cond` or `switch` return results of different structure.

    Whichever branch runs, the results must be the same tuples, lists or dictionaries of arrays.
    A branch that is missing (no `otherwise`) returns nothing.
    """

    title: ClassVar[str] = "Control flow requires a consistent return structure in all branches"
    message: ClassVar[str] = "{first} returns {first_structure}, {other} returns {other_structure}"
    label: ClassVar[str] = "structures differ"
    first: str
    first_structure: str
    other: str
    other_structure: str


@dataclass(eq=False, kw_only=True)
class BranchTypeError(DiastaseError, TypeError):
    """The branches of a `cond` or `switch` return arrays of different shapes.

    Different dtypes are promoted to a common one as in arithmetic; shapes must be equal.
    """

    title: ClassVar[str] = "Control flow requires consistent return types in all branches"
    message: ClassVar[str] = "{leaf}: {first} returns {first_type}, {other} returns {other_type}"
    label: ClassVar[str] = "types differ"
    leaf: str
    first: str
    first_type: str
    other: str
    other_type: str


@dataclass(eq=False, kw_only=True)
class MissingBranchError(DiastaseError, TypeError):
    """A branch returns a value, but there is none for the case that no predicate holds.

    Add `@name.otherwise` with a function that returns the same types.
    """

    title: ClassVar[str] = "A cond that returns a value needs an otherwise"
    message: ClassVar[str] = "{first} returns {structure}, and nothing is given for the other case"
    label: ClassVar[str] = "has no otherwise"
    first: str
    structure: str


@dataclass(eq=False, kw_only=True)
class NotAnArrayError(DiastaseError, TypeError):
    """A value that goes through a loop or branch is not an array or number.

    Strings, functions and other objects can be used inside by closing over them, not carried.
    """

    title: ClassVar[str] = "Only arrays and numbers go through control flow"
    message: ClassVar[str] = "{leaf} of {construct} is {found}"
    label: ClassVar[str] = "no array"
    construct: str
    leaf: str
    found: str
