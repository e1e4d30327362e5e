"""What `for_loop`, `while_loop`, `cond` and `switch` refuse inside compiled functions."""

from typing import ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


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


class CarrySizeError(CarryTypeError):
    """A loop's body changes a size that is known while tracing.

        @for_loop(0, 3, 1)
        def loop(i, x):
            return jnp.concatenate([x, x])

        loop(jnp.ones(2))

    By default a carried array keeps a size that is a plain number: that it does not change is
    used to compile fast code, and is what `jax.lax` demands, too. `allow_array_resizing=True`
    makes the sizes of all carried arrays changeable; a size computed at run time may always change.
    """

    help: ClassVar[str] = (
        "let the loop change sizes, with allow_array_resizing=True, or give {leaf} the same shape "
        "before the loop and in its body"
    )


class ResizingError(DiastaseError, TypeError):
    """A loop's body returns arrays of different sizes, where the ones that it takes share a size.

        @for_loop(0, 3, 1)
        def loop(i, x, y):          # both are of the size n
            return jnp.concatenate([x, x]), y

        a = jnp.ones(n)
        loop(a, a)

    Arrays that come in with one size may be used together in the body (`x + y`), in all
    iterations; so the sizes may change, but only together. `allow_array_resizing=True` takes
    the common size for a coincidence: each size that changes is then one by itself.
    """

    title: ClassVar[str] = "A loop's body must keep equal sizes equal"
    message: ClassVar[str] = (
        "{leaf} and {other} of {construct} come in with the same size {size_in}, the body returns "
        "them with {size} and {other_size}"
    )
    label: ClassVar[str] = "sizes: {size_in}, {size_in} -> {size}, {other_size}"
    help: ClassVar[str] = "with allow_array_resizing=True each size may change by itself"
    construct: str
    leaf: str
    other: str
    size_in: str
    size: str
    other_size: str


class ResizingOptionsError(DiastaseError, ValueError):
    """A loop's two options about sizes contradict each other.

    `allow_array_resizing=True` and `experimental_preserve_dimensions=False` say the same: give
    one of them.
    """

    title: ClassVar[str] = "Options of a loop contradict each other"
    message: ClassVar[str] = (
        "allow_array_resizing={flag} and experimental_preserve_dimensions={flag} say the opposite"
    )
    help: ClassVar[str] = "give one of the two"
    flag: bool


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


class LoopConditionError(CompileError, TypeError):
    """The condition of a `while_loop` does not return a single boolean.

    Compare (`x > 0`), or reduce an array with `jnp.any` or `jnp.all`. Gates and measurements
    belong into the body.
    """

    title: ClassVar[str] = "The condition of a while_loop must be a boolean scalar"
    message: ClassVar[str] = "it {found}"
    label: ClassVar[str] = "condition"
    found: str


class LoopBoundError(CompileError, TypeError):
    """A bound or the step of a `for_loop` is not an integer scalar, or its type cannot hold it."""

    title: ClassVar[str] = "Bounds and step of a for_loop are integers"
    message: ClassVar[str] = "{reason}"
    label: ClassVar[str] = "not usable as a range"
    reason: str


class PredicateError(DiastaseError, TypeError):
    """The predicate of a `cond`, or the index of a `switch`, is not a single number.

    Reduce an array with `jnp.any` or `jnp.all`, or index one of its elements.
    """

    title: ClassVar[str] = "{what} is not a scalar"
    message: ClassVar[str] = "it is {found}"
    label: ClassVar[str] = "needs one value"
    what: str
    found: str


class SwitchCaseError(DiastaseError, TypeError):
    """A case of a `switch` that is no integer known while the program is traced.

        @choose.branch(n)           # n is an argument of the program

    Cases say which branches there are; for a condition on traced values there is `cond`.
    """

    title: ClassVar[str] = "A case of a switch is an integer"
    message: ClassVar[str] = "it is {found}"
    help: ClassVar[str] = "give an integer that is known while tracing, or use cond"
    found: str


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


class BranchTypeError(DiastaseError, TypeError):
    """The branches of a `cond` or `switch` return arrays of different rank, or keys and numbers.

    Different dtypes are promoted to a common one as in arithmetic, sizes may differ; the number of
    axes must be equal.
    """

    title: ClassVar[str] = "Control flow requires consistent return types in all branches"
    message: ClassVar[str] = "{leaf}: {first} returns {first_type}, {other} returns {other_type}"
    label: ClassVar[str] = "types differ"
    leaf: str
    first: str
    first_type: str
    other: str
    other_type: str


class MissingBranchError(DiastaseError, TypeError):
    """A branch returns a value, but there is none for the case that no predicate holds.

    Add `@name.otherwise` with a function that returns the same types.
    """

    title: ClassVar[str] = "A cond that returns a value needs an otherwise"
    message: ClassVar[str] = "{first} returns {structure}, and nothing is given for the other case"
    label: ClassVar[str] = "has no otherwise"
    first: str
    structure: str


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


class NotCalledError(DiastaseError, AttributeError):
    """`loop.operation` of a loop or choice that has not been called.

    @for_loop(0, 3, 1)
    def loop(i): ...

    loop()
    loop.operation           # what the call has applied
    """

    title: ClassVar[str] = "Not called yet"
    message: ClassVar[str] = "the operation of a {construct} exists once it is called"
    help: ClassVar[str] = "call it first: loop(); loop.operation"
    construct: str
