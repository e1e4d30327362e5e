"""What AutoGraph refuses, and what happens where a statement stays Python's: `warn_or_refuse`.

That is a warning, an error, or nothing, by two attributes of the package, as in Catalyst, which are
read when they are needed. Importing this module imports nothing that converts.
"""

import sys
import warnings
from typing import Any, ClassVar

from diastase_runtime.errors import DiastaseError, Span


class AutoGraphError(DiastaseError):
    """A function or statement that AutoGraph cannot convert; the base of all of these.

    Example:
        >>> from diastase import autograph_source
        >>> autograph_source(lambda x: x)  # a NotAutoGraphedError, which is one
        Traceback (most recent call last):
        ...
        diastase.autograph.staging.errors.NotAutoGraphedError: Not converted by AutoGraph: ...

    """

    title: ClassVar[str] = "AutoGraph"


class AutoGraphWarning(UserWarning):
    """A loop or function that AutoGraph leaves to Python: it runs while it is traced.

    `diastase.autograph_strict_conversion = True` makes an error of it,
    `diastase.autograph_ignore_fallbacks = True` keeps it quiet.
    """


class NotConvertedError(AutoGraphError):
    """A loop stays Python's, and `diastase.autograph_strict_conversion` is set.

    Without the switch it runs while the function is traced, with a warning, and its iterations
    stand in the program one after the other.
    """

    title: ClassVar[str] = "AutoGraph leaves this to Python"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "is not converted"
    help: ClassVar[str] = (
        "go through arrays, not through other objects; or allow it, with "
        "diastase.autograph_strict_conversion = False"
    )
    what: str


class NoSourceError(AutoGraphError):
    """A function whose source code cannot be found, or does not fit what is running.

    AutoGraph reads source code. Functions made by `exec`, typed into Python's plain prompt or
    given by `python -c` have none; put them into a file or a notebook.
    """

    title: ClassVar[str] = "AutoGraph needs the source of a function"
    message: ClassVar[str] = "{function} has none that can be read: {reason}"
    help: ClassVar[str] = "put the function into a file"
    function: str
    reason: str


class UnsupportedSyntaxError(AutoGraphError, SyntaxError):
    """Syntax that AutoGraph does not convert: `:=`, `match`, `async`."""

    title: ClassVar[str] = "AutoGraph does not convert this"
    message: ClassVar[str] = "{what} is not supported"
    label: ClassVar[str] = "stands here"
    help: ClassVar[str] = "write an ordinary function, with assignments, if and elif"
    what: str


class NotAutoGraphedError(AutoGraphError, ValueError):
    """`autograph_source` of a function that has not been converted.

    Functions are converted when they are traced: call the compiled function first.
    """

    title: ClassVar[str] = "Not converted by AutoGraph"
    message: ClassVar[str] = "{function} was not converted by AutoGraph"
    help: ClassVar[str] = (
        "functions are converted when they are traced: first call qjit({function}, autograph=True) "
        "or qjit(run_autograph({function})), or what calls it, compiled so"
    )
    function: str


class NotAFunctionError(AutoGraphError, TypeError):
    """`run_autograph`, `disable_autograph` or `autograph_source` of what is no function."""

    title: ClassVar[str] = "AutoGraph converts functions"
    message: ClassVar[str] = "{name} was given {found}"
    help: ClassVar[str] = "give it a function, a QNode or a function compiled by qjit"
    name: str
    found: str


class UninitialisedError(AutoGraphError, UnboundLocalError):
    """A variable is read before it has a value.

    In a loop: a variable that the first iteration reads must have a value before the loop. After
    a statement on traced values, where only one branch gives a value to a variable, the program
    checks when it runs that it was this one.
    """

    title: ClassVar[str] = "A variable has no value"
    message: ClassVar[str] = "the variable '{variable}' is potentially uninitialized"
    label: ClassVar[str] = "reads '{variable}'"
    help: ClassVar[str] = "give '{variable}' a value before the loop or branch"
    variable: str


class BranchValueError(AutoGraphError, TypeError):
    """The branches of an `if` on a traced value give a variable what no program can choose between.

    Both must give it an array, or tuples, lists or dictionaries alike; what is no array (a string,
    None, a function) must be the same in both. A number can stand for a string: an index, say.
    """

    title: ClassVar[str] = "Branches between whose values no program can choose"
    message: ClassVar[str] = "{variable} is {first} in one branch and {other} in the other"
    label: ClassVar[str] = "decided when the program runs"
    help: ClassVar[str] = (
        "give it numbers or arrays in all branches, or containers of them of one structure; what "
        "is neither (a text, None, a function) must be the same in all"
    )
    variable: str
    first: str
    other: str


class LoopValueError(AutoGraphError, TypeError):
    """A loop gives a variable a value of another structure than it has before the loop.

    A list gets longer, None becomes an array, a string changes: a compiled loop runs one code for
    all iterations.
    """

    title: ClassVar[str] = "A loop changes what a variable is"
    message: ClassVar[str] = "{variable} has another structure after an iteration than before"
    label: ClassVar[str] = "runs as part of the program"
    help: ClassVar[str] = (
        "give {variable} its final structure before the loop: an array of the full size, say"
    )
    variable: str


class ForeignChangeError(AutoGraphError, TypeError):
    """A list, an object or a global variable is changed in code that may run many times, or never.

        results = []
        if x > 0:                    # traced
            results.append(x)

    Such code is traced once, whatever the program does later. Assign to a variable or to an item
    of an array instead, and return it. The same holds for variables that are there before the
    program: `global` ones, those of a function around the compiled one, and attributes of classes.
    """

    title: ClassVar[str] = "Something is changed where only the program decides"
    message: ClassVar[str] = "{what} is changed in code that may run many times, or never"
    label: ClassVar[str] = "decided when the program runs"
    help: ClassVar[str] = (
        "assign to a variable of the function, or to an item of a jnp array, and return it"
    )
    what: str


class UnseenChangesError(AutoGraphError):
    """A block can reach so many lists and objects that not all of them are watched.

    A warning: should the block change one that is not watched, the change is made while the block
    is traced, not when the program runs. Large tables belong into arrays, which are not searched.
    """

    title: ClassVar[str] = "AutoGraph does not see every change"
    message: ClassVar[str] = (
        "more than {limit} lists and objects can be reached here, so changes to some go unseen: "
        "put large tables into arrays"
    )
    label: ClassVar[str] = "is searched for changes"
    help: ClassVar[str] = "put large tables into arrays"
    limit: int


class FreeArrayError(AutoGraphError, TypeError):
    """Item assignment to an array that belongs to a function around this one.

    Arrays of JAX do not change: `x[i] = v` gives the variable `x` a new array, which needs
    `nonlocal x` in an inner function.
    """

    title: ClassVar[str] = "The array belongs to another function"
    message: ClassVar[str] = (
        "item assignment gives a variable a new array, and this one is not local"
    )
    label: ClassVar[str] = "assigns an item"
    help: ClassVar[str] = "declare it nonlocal, or pass the array as an argument and return it"


class LogicalOperandError(AutoGraphError, TypeError):
    """`and` or `or` of a traced value and something that is neither a boolean nor an array.

    On traced values they give booleans, as `jnp.logical_and` does; Python's `x or 1.0` gives a
    number.
    """

    title: ClassVar[str] = "Operands of and, or must be booleans"
    message: ClassVar[str] = "'{operator}' of a traced value and {found} would give a boolean"
    label: ClassVar[str] = "an operand is traced"
    help: ClassVar[str] = "choose a value with an if, or with jnp.where"
    operator: str
    found: str


class LoopAttemptError(AutoGraphError, TypeError):
    """A loop that Python has to run, and that a traced value ends (`break`, `return`).

    Python must know how often it runs the body. Loop over a range or an array.
    """

    title: ClassVar[str] = "A traced value ends a loop of Python's"
    message: ClassVar[str] = "whether the loop goes on is known only when the program runs"
    label: ClassVar[str] = "goes through something that is no array"
    help: ClassVar[str] = "loop over a range or an array"


class RecursiveFunctionError(AutoGraphError, RecursionError):
    """A function that calls itself, and a traced value says whether it does.

    Both branches are traced, so tracing has no end. Write a loop.
    """

    title: ClassVar[str] = "Recursion that only the program can end"
    message: ClassVar[str] = "{function} calls itself without an end that is known while tracing"
    label: ClassVar[str] = "calls it again"
    help: ClassVar[str] = "write a while loop"
    function: str


def is_strict() -> bool:
    """Whether what stays Python's is an error."""
    return _package().autograph_strict_conversion


def _package() -> Any:
    """The package whose attributes its users set; it imports us, so we do not import it."""
    return sys.modules["diastase"]


def warn_or_refuse(cause: Exception, text: str, line: Span | None) -> None:
    """Tell the user that something stays Python's, and why."""
    if is_strict():
        if isinstance(cause, AutoGraphError):
            raise cause
        raise NotConvertedError(what=text, span=line) from cause
    if _package().autograph_ignore_fallbacks:
        return
    if line is None:
        warnings.warn(text, AutoGraphWarning, stacklevel=2)
    else:
        warnings.warn_explicit(text, AutoGraphWarning, line.file, line.line)
