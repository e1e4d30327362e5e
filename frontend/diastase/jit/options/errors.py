"""Errors and warnings about compiling, about the stages, and about what compiled methods read."""

from typing import ClassVar

from diastase_runtime.errors import CompileError, DiastaseError


class RecompilationWarning(UserWarning):
    """A function compiled from its type hints was called with other types, and compiled again.

        @qjit
        def f(x: int): ...
        f(1.5)                   # f was compiled for an integer

    Remove the type hints to compile at the first call, silently, for each kind of arguments.
    """


class NotCompiledError(DiastaseError, AttributeError):
    """`f.jaxpr`, `f.mlir`, … of a function that has not been compiled yet.

    A function without type hints is compiled at its first call: call it, or use
    `f.trace(*arguments)`.
    """

    title: ClassVar[str] = "Not compiled yet"
    message: ClassVar[str] = "{function}.{attribute} exists once {function} is compiled"
    help: ClassVar[str] = "call {function} first, or use {function}.{instead}(...)"
    function: str
    attribute: str
    instead: str = "trace"


class NestedProfileError(DiastaseError, RuntimeError):
    """`diastase.profile()` or `debug.instrumentation()` while another one is measuring.

    They measure the whole process, all of its threads, so there can be only one at a time.
    """

    title: ClassVar[str] = "Already profiling"
    message: ClassVar[str] = "this process is being profiled or instrumented already"
    help: ClassVar[str] = "end its `with` block first"


class UnsupportedOptionError(CompileError, NotImplementedError):
    """An option of `qjit` that is not honoured here, with a value that would change something."""

    title: ClassVar[str] = "Unsupported option"
    message: ClassVar[str] = "qjit does not support {option}={value}"
    help: ClassVar[str] = "{instead}"
    option: str
    value: str
    instead: str


class ConflictingOptionsError(CompileError, ValueError):
    """Two options of `qjit` that exclude each other.

        @qjit(seed=1, async_qnodes=True)

    Circuits that run at once draw from other streams of random numbers than those that run one
    after the other, so the same seed would give other outcomes; and `autograph_include` names
    modules to convert, which nothing does without `autograph`.
    """

    title: ClassVar[str] = "Conflicting options"
    message: ClassVar[str] = "{first} does not go with {second}"
    help: ClassVar[str] = "{advice}"
    first: str
    second: str
    advice: str


class InvalidOptionError(DiastaseError, ValueError, TypeError):
    """An option of `qjit` or of a stage with a value that it does not take."""

    title: ClassVar[str] = "Invalid option"
    message: ClassVar[str] = "{option} is {value}"
    help: ClassVar[str] = "{option} takes {allowed}"
    option: str
    value: str
    allowed: str


class AbstractedAxesError(DiastaseError, ValueError):
    """`abstracted_axes` with something that is no specification, or does not fit the arguments.

        @qjit(abstracted_axes=(("n",), {1: "n"}))
        def f(x, matrix): ...

    One specification for all arguments, or a tuple with one for each; or, for an argument that is a
    pytree, a pytree of them. A specification names axes: `("m", None)` the first of two, `{1: "n"}`
    the second, `()` or `{}` none. Axes of one name have the same size in every call.
    """

    title: ClassVar[str] = "Invalid abstracted_axes"
    message: ClassVar[str] = "{place} {problem}"
    help: ClassVar[str] = (
        "name the axes of an argument in a tuple, ('m', 'n'), or by number, {{1: 'n'}}"
    )
    place: str
    problem: str


class AxisSizesDifferError(DiastaseError, ValueError):
    """Two axes to which `abstracted_axes` gives one name have different sizes.

        @qjit(abstracted_axes=("n",))
        def f(x, y): ...
        f(jnp.ones(3), jnp.ones(4))       # n is 3, and 4

    Equal names promise equal sizes; give axes whose sizes may differ different names.
    """

    title: ClassVar[str] = "Sizes do not match"
    message: ClassVar[str] = (
        "{name} is {first_size} by axis {first_axis} of argument {first}, and {second_size} by "
        "axis {second_axis} of argument {second} of {function}"
    )
    help: ClassVar[str] = "give the axes different names in abstracted_axes if their sizes differ"
    function: str
    name: str
    first: str
    first_axis: int
    first_size: int
    second: str
    second_axis: int
    second_size: int


class UnknownOptionError(DiastaseError, TypeError):
    """A keyword argument that `qjit` does not have."""

    title: ClassVar[str] = "Unknown option"
    message: ClassVar[str] = "qjit() got an unexpected keyword argument {option}"
    help: ClassVar[str] = "qjit takes {allowed}"
    option: str
    allowed: str


class NotCallableError(DiastaseError, TypeError):
    """`qjit` was applied to something that cannot be called."""

    title: ClassVar[str] = "Nothing to compile"
    message: ClassVar[str] = "qjit takes a function, not a {type}"
    help: ClassVar[str] = "use @qjit above a function, or qjit(function)"
    type: str


class CompiledTransformError(DiastaseError, TypeError):
    """A `Compiled` inside `jax.jit`, `jax.grad` or `jax.vmap`.

    A compiled program is specialised to its argument types and can no longer be transformed;
    transform the Python function, then compile.
    """

    title: ClassVar[str] = "Cannot transform a compiled program"
    message: ClassVar[str] = (
        "Cannot apply JAX transformations to a function lowered and compiled for a particular "
        "signature. Detected argument of Tracer type {type}."
    )
    help: ClassVar[str] = "transform the Python function instead, then compile the result"
    type: str


class ArgumentMismatchError(DiastaseError, TypeError):
    """A `Compiled` was called with other types than it was compiled for.

        f.trace(1).lower().compile()(1.5)

    Call the `qjit` function itself, which compiles for each kind of arguments.
    """

    title: ClassVar[str] = "Wrong arguments"
    message: ClassVar[str] = (
        "Argument types differ from the types for which this computation was compiled. "
        "The mismatches are:\n{mismatches}"
    )
    mismatches: str


class StructureMismatchError(DiastaseError, TypeError):
    """A `Compiled` was called with another number or nesting of arguments.

    Static arguments are part of the compiled program: they are not passed again.
    """

    title: ClassVar[str] = "Wrong arguments"
    message: ClassVar[str] = (
        "Function compiled with input pytree does not match the input pytree it was called with. "
        "There are {count} mismatches, including:\n{mismatches}"
    )
    help: ClassVar[str] = "pass the arguments as they were traced, without the static ones"
    count: int
    mismatches: str


class UnknownResultSizeError(DiastaseError, TypeError):
    """A compiled function whose results have sizes that the program finds, inside of `jax.jit`.

        jax.jit(f)(x)            # f is a qjit function that returns x[x > 0]

    XLA allocates results before it calls the function, so inside of JAX's transformations their
    sizes must follow from the sizes of the arguments. Call the function itself, or put what
    depends on the size inside: `qjit(jax.grad(python_function))`.
    """

    title: ClassVar[str] = "Size of a result not known to JAX"
    message: ClassVar[str] = (
        "{function} was called inside of a transformation of JAX, and returns {types}: sizes that "
        "are known only when it has run"
    )
    help: ClassVar[str] = (
        "call {function} outside of it, put the transformation inside of {function}, or make an "
        "argument that is a size static (static_argnums)"
    )
    function: str
    types: str


class DeepAttributeError(DiastaseError, RecursionError):
    """An attribute that a compiled method reads, with too many objects inside of each other.

        @qjit
        def first(self, x):
            return self.linked_list.value * x

    A compiled method compares the attributes that it reads with what they were when it was
    compiled, down to the last object in them. Pass what the method needs as an argument, or keep
    it in an attribute of its own.
    """

    title: ClassVar[str] = "Attribute too deep"
    message: ClassVar[str] = (
        "attribute {attribute} of {owner} has more than {levels} levels of objects inside of each "
        "other, too many to see whether one has changed"
    )
    help: ClassVar[str] = "keep what the method reads in an attribute of its own, or pass it"
    attribute: str
    owner: str
    levels: int


class TracedAttributeError(DiastaseError, TypeError):
    """A compiled method reads an attribute of its object, which then holds a traced value.

        @qjit
        def step(self, x):
            self.total = self.total + x
            return self.total

    Python runs the method once, while it is traced, so calls would not see what earlier ones have
    set. Pass the value as an argument and return it; set the attribute where the method is called.
    An array that is made once and kept is traced, too, if `jax.numpy` makes it: make it in
    `__init__`, or with NumPy.
    """

    title: ClassVar[str] = "A compiled method has no state"
    message: ClassVar[str] = (
        "attribute {attribute} of {owner} is read, and then holds a traced value: later calls "
        "would not see it"
    )
    label: ClassVar[str] = "reads '{attribute}'"
    help: ClassVar[str] = (
        "pass {attribute} as an argument, return its new value, and set it where the method is "
        "called; make a constant in __init__, or with NumPy"
    )
    attribute: str
    owner: str
