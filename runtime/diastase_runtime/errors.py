"""The base of all our exceptions, and those that the runtime raises.

An error is a dataclass by topic: the class holds the wording (templates over its fields), a
raise site passes data, by keywords. It becomes a dataclass when it is first raised: there are a
hundred, and making them all took a fifth of the time of importing us. The class docstring is the
user's help page: when it arises, an example, the fix. Errors of ours also derive from the built-in
exception that a Python user would catch (`TypeError`, `ValueError`, …). `InternalError` is for our
own mistakes and asks for a report.
"""

import linecache
import threading
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, dataclass_transform


@dataclass(frozen=True)
class Span:
    """A line of the user's source."""

    file: str
    line: int
    function: str = ""
    known_text: str = field(default="", repr=False, compare=False)
    """The source line, where it does not matter whether there is the file."""

    @property
    def text(self) -> str:
        """The source line itself, or an empty string where the file cannot be read."""
        return self.known_text or linecache.getline(self.file, self.line).strip()


_MAKING = threading.Lock()
_made: set[Any] = set()
"""Classes that are dataclasses, completely: they have their fields before they have `__init__`."""


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
class _DataclassWhenRaised(type):
    """The class of our errors' classes: makes a dataclass of one when its first object is made."""

    def __call__(cls, *args: Any, **fields: Any) -> Any:
        if cls not in _made:
            _make_dataclasses(cls)
        return super().__call__(*args, **fields)


def _make_dataclasses(kind: type) -> None:
    """Of a class and of those that it inherits fields from, which come first."""
    with _MAKING:
        for base in reversed(kind.__mro__):
            if issubclass(base, DiastaseError) and "__dataclass_fields__" not in vars(base):
                dataclass(eq=False, kw_only=True)(base)
        _made.add(kind)


@dataclass(eq=False, kw_only=True)
class DiastaseError(Exception, metaclass=_DataclassWhenRaised):
    """Anything that diastase refuses or reports; catch it to catch all of ours.

    Example:
        >>> from diastase import qjit
        >>> qjit(3)  # a NotCallableError, which is one
        Traceback (most recent call last):
        ...
        diastase.jit.options.errors.NotCallableError: Nothing to compile: ...

    """

    title: ClassVar[str] = "Error"
    message: ClassVar[str] = ""
    label: ClassVar[str] = ""
    """A few words that stand under the user's line."""
    help: ClassVar[str] = ""
    """What to do about it."""

    span: Span | None = field(default=None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by the fields, which are given by keyword: for other processes."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return _raised_elsewhere, (type(self), values)

    def __str__(self) -> str:
        """Title, message, the user's line with its label, and what to do."""
        fields = vars(self)
        lines = [f"{self.title.format(**fields)}: {self.message.format(**fields)}"]
        if self.span is not None:
            where = f" in {self.span.function}" if self.span.function else ""
            lines.append(f"  --> {self.span.file}:{self.span.line}{where}")
            if self.span.text:
                number = str(self.span.line)
                lines.append(f"   {number} | {self.span.text}")
                label = self.label.format(**fields)
                carets = "^" * len(self.span.text)
                lines.append(f"   {' ' * len(number)} | {carets} {label}".rstrip())
        if self.help:
            lines.append(f"  help: {self.help.format(**fields)}")
        return "\n".join(lines)


def _raised_elsewhere(kind: type[DiastaseError], values: dict[str, Any]) -> DiastaseError:
    return kind(**values)


class CompileError(DiastaseError):
    """A program that cannot be compiled, as it is or with the options given.

    The base of what Catalyst raises as its `CompileError`, so that code that catches that one goes
    on working; what is raised is one of the classes that derive from it.

    Example:
        >>> from diastase import qjit
        >>> qjit(lambda x: x, link=False)  # an UnsupportedOptionError, which is one
        Traceback (most recent call last):
        ...
        diastase.jit.options.errors.UnsupportedOptionError: Unsupported option: ...

    """


class DifferentiableCompileError(CompileError):
    """A program that has no derivative, or that cannot be differentiated in the way asked for.

    The base of what Catalyst raises as its `DifferentiableCompileError`.

    Example:
        >>> from diastase import grad, qjit
        >>> qjit(grad(lambda n: 2.0 * n))(1)  # a DerivativeTypeError, which is one
        Traceback (most recent call last):
        ...
        diastase.api.differentiable.DerivativeTypeError: No derivative: ...

    """


class PlxprCaptureCFCompatibilityError(DiastaseError):
    """Catalyst's control flow under PennyLane's own capture, which Catalyst refuses.

    Nothing raises this error here: `for_loop`, `while_loop` and `cond` work with every setting of
    `capture`. It exists so that code that catches Catalyst's goes on working.

    Example:
        >>> from diastase import PlxprCaptureCFCompatibilityError, for_loop, qjit
        >>> try:
        ...     print(qjit(lambda: for_loop(0, 3, 1)(lambda i, x: x + i)(0), capture=True)())
        ... except PlxprCaptureCFCompatibilityError:
        ...     print("with qml.for_loop instead")
        3

    """


class InternalError(DiastaseError):
    """A mistake of ours, never of the user's; please report it with the program."""

    title: ClassVar[str] = "Internal error of diastase"
    message: ClassVar[str] = "{what}"
    help: ClassVar[str] = "please report this together with the program that caused it"
    what: str


class ArgumentTypeError(DiastaseError, TypeError):
    """A loaded program was called with other types than it was compiled for.

    Programs called through `qjit` never raise this: there, arguments are converted or the
    program is compiled anew. Pass numpy arrays of the dtypes and ranks that the message lists.
    """

    title: ClassVar[str] = "Wrong arguments"
    message: ClassVar[str] = "{program} was compiled for ({wanted}) and called with ({given})"
    program: str
    wanted: str
    given: str


class LibraryLoadError(DiastaseError, OSError):
    """The dynamic linker refused a compiled library.

    It was made for another computer, or was removed or changed meanwhile. Compile the program
    again; where the library lies in the cache, `DIASTASE_CACHE=0` compiles without it.
    """

    title: ClassVar[str] = "Cannot load a compiled program"
    message: ClassVar[str] = "{library}: {reason}"
    library: Path
    reason: str


class UnsafeTemporaryFolderError(DiastaseError, PermissionError):
    """There is no folder for temporary files in which others could not exchange a library.

    Programs that are not kept in the cache are loaded from a temporary folder. Others may write
    where that is made if the folder is sticky, as `/tmp` is (`chmod +t`), so that they can rename
    nothing of yours. Set `TMPDIR` to such a folder, or to one of your own.
    """

    title: ClassVar[str] = "No safe temporary folder"
    message: ClassVar[str] = "others could exchange files in {directory}, /tmp and /var/tmp"
    help: ClassVar[str] = "set TMPDIR to a folder that only you can write"
    directory: str


class CallbackResultError(DiastaseError, TypeError):
    """A function called by `jax.pure_callback` or `io_callback` returned something unexpected.

    Number, shapes and dtypes of its results must be those that were declared: nothing is
    converted, so that an array of floats is never cut to integers unnoticed. Of
    `diastase.pure_callback`, so must be the keys of dictionaries.
    """

    title: ClassVar[str] = "Unexpected result of a callback"
    message: ClassVar[str] = "the function returned {found}, declared was {expected}"
    label: ClassVar[str] = "called from here"
    help: ClassVar[str] = "convert in the function: np.asarray(result, dtype)"
    found: str
    expected: str


class WireOutOfRangeError(DiastaseError, IndexError, RuntimeError):
    """An operation acts on a wire that the device does not have.

        @qml.qnode(qml.device("lightning.qubit", wires=2))
        def circuit(wire):
            qml.RX(0.1, wires=wire)  # fails for 2 and above, and for negative numbers

    Wires are numbered from 0; give the device enough of them.
    """

    title: ClassVar[str] = "Wire out of range"
    message: ClassVar[str] = "{construct} on wire {wire} of a device with {num_wires} wires"
    label: ClassVar[str] = "there is no wire {wire}"
    help: ClassVar[str] = "wires are numbered from 0; give the device more of them"
    construct: str
    wire: int
    num_wires: int


class OverlappingWiresError(DiastaseError, ValueError, RuntimeError):
    """An operation names the same wire twice.

        qml.CNOT(wires=[i, j])  # fails where i and j have the same value

    The wires of one operation must differ; guard the operation with `cond` where they may not.
    """

    title: ClassVar[str] = "Overlapping wires"
    message: ClassVar[str] = "{construct} names wire {wire} more than once"
    label: ClassVar[str] = "wire {wire} twice"
    help: ClassVar[str] = "the wires of one operation must all be different"
    construct: str
    wire: int


class OutOfMemoryError(DiastaseError, MemoryError):
    """The program asked for more memory than there is.

    Usually a size computed at run time is larger than meant; the message says how many bytes were
    asked for at once.
    """

    title: ClassVar[str] = "Out of memory"
    message: ClassVar[str] = "{construct} asked for {size} bytes"
    construct: str
    size: int


class ZeroStepError(DiastaseError, ValueError):
    """The step of a `for_loop`, computed at run time, is zero.

        @for_loop(0, 10, step)  # fails where step is 0, as range(0, 10, 0) does
        def body(i): ...

    Make sure that the step is positive, to count up, or negative, to count down.
    """

    title: ClassVar[str] = "Step of zero"
    message: ClassVar[str] = "the step of {construct} is 0"
    label: ClassVar[str] = "this loop would never end"
    construct: str


class NegativeSizeError(DiastaseError, ValueError):
    """An array's size, computed at run time, is negative.

        jnp.ones(n - 3)  # fails for n = 2

    Clamp it with `jnp.maximum(size, 0)` if an empty array is meant.
    """

    title: ClassVar[str] = "Negative size"
    message: ClassVar[str] = "{construct} makes an array of size {size}"
    label: ClassVar[str] = "size {size}"
    construct: str
    size: int
    axis: int


class ImpossiblePostselectionError(DiastaseError, ValueError):
    """A measurement is to be kept only with an outcome that has probability zero.

        qml.measure(0, postselect=1)  # on a wire that is certainly in state 0

    No state is left to continue with; choose another outcome or prepare another state.
    """

    title: ClassVar[str] = "Impossible postselection"
    message: ClassVar[str] = "wire {wire} is never measured as {outcome}"
    label: ClassVar[str] = "outcome {outcome} has probability zero"
    construct: str
    wire: int
    outcome: int


class InvalidShotsError(DiastaseError, ValueError):
    """A traced number of shots that is zero or negative when the program runs.

        @qjit
        def f(n):
            return qml.set_shots(circuit, n)()        # f(0)

    A QNode has a positive number of shots, or none at all (`shots=None`).
    """

    title: ClassVar[str] = "Invalid number of shots"
    message: ClassVar[str] = "{construct} was called with {shots} shots"
    label: ClassVar[str] = "called here"
    help: ClassVar[str] = "the number of shots is positive; shots=None gives exact results"
    construct: str
    shots: int


class TooManyQubitsError(DiastaseError, ValueError):
    """A device was asked for more wires than can be simulated.

    A state vector of n wires has 2**n complex numbers: 30 wires take 16 GiB.
    """

    title: ClassVar[str] = "Too many wires"
    message: ClassVar[str] = "{construct}: a state of {number} wires cannot be made"
    help: ClassVar[str] = (
        "a state vector of n wires takes 16 * 2**n bytes, a density matrix 8 * 4**n"
    )
    construct: str
    number: int


class NegativeQubitsError(DiastaseError, ValueError):
    """A device was asked for a negative number of wires, computed at run time.

    qml.device("lightning.qubit", wires=n - 3)  # fails for n = 2
    """

    title: ClassVar[str] = "Negative number of wires"
    message: ClassVar[str] = "{construct}: there is no state of {number} wires"
    construct: str
    number: int


class SizeMismatchError(DiastaseError, ValueError):
    """Two sizes that must be equal, both known at run time only, are not.

        jnp.ones(n) + jnp.ones(m)  # fails where n and m differ

    Make one of them from the other, or check before calling.
    """

    title: ClassVar[str] = "Sizes do not match"
    message: ClassVar[str] = "{construct}: size {found} where {expected} is needed"
    label: ClassVar[str] = "{found} is not {expected}"
    construct: str
    found: int
    expected: int


class AssumptionError(DiastaseError, ValueError):
    """A compiled program was called with sizes for which the function is another program.

        @qjit
        def last_two(x):
            return x[-2:] if x.shape[0] >= 2 else x

    Python's `if` is decided while tracing, so a program is compiled for `x.shape[0] >= 2` or for
    the contrary. Called through `qjit`, the function is compiled again where that does not hold;
    a program that was compiled ahead of time, or saved, raises this error.
    """

    title: ClassVar[str] = "Compiled for other sizes"
    message: ClassVar[str] = (
        "the program assumes {assumption}; in this call it is {left} and {right}"
    )
    label: ClassVar[str] = "asks while tracing"
    help: ClassVar[str] = (
        "call the function through qjit, which compiles it again for such sizes (before it is "
        "saved or mapped, if it is), or make the argument static (static_argnums)"
    )
    assumption: str
    left: int
    right: int
    number: int
    """Which of the program's assumptions."""
    raised_by: Any = field(default=None, repr=False)
    """The executable whose assumption it is."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the executable, which is in this process."""
        made, (kind, values) = super().__reduce__()
        return made, (kind, {**values, "raised_by": None})


class InvalidValueError(DiastaseError, ValueError):
    """A value found when the program ran is not what an operation needs.

        qml.AmplitudeEmbedding(features, wires=range(2))  # features of norm 2

    Where values are known while the function is traced, PennyLane raises its own error.
    """

    title: ClassVar[str] = "Invalid value"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "checked here"
    what: str


class NotTracePreservingError(DiastaseError, ValueError):
    """The Kraus matrices of a channel, known at run time only, do not preserve traces.

        qml.QubitChannel([jnp.sqrt(1 - p) * I, jnp.sqrt(q) * X], wires=0)  # p is not q

    The sum of `K.conj().T @ K` over all of them must be the identity. A channel whose strength is
    NaN is none, either.
    """

    title: ClassVar[str] = "Not a channel"
    message: ClassVar[str] = "{construct}: the channel does not preserve traces"
    label: ClassVar[str] = "applied here"
    help: ClassVar[str] = "the sum of K.conj().T @ K over its Kraus matrices K must be the identity"
    construct: str


class NotANumberError(DiastaseError, ValueError):
    """Outcomes are to be drawn from a state whose amplitudes are NaN or infinite.

        qml.RX(jnp.nan, wires=0)
        return qml.counts()             # with shots

    A gate whose parameter is NaN or infinite makes all exact results NaN. Outcomes are integers,
    which have no NaN.
    """

    title: ClassVar[str] = "Not a number"
    message: ClassVar[str] = "{construct}: the state has no probabilities, its amplitudes are NaN"
    label: ClassVar[str] = "outcomes drawn here"
    help: ClassVar[str] = "a parameter of a gate before was NaN or infinite"
    construct: str


class GpuUnavailableError(DiastaseError, RuntimeError):
    """A program is to run on a GPU, and there is none that it can run on.

        qjit(circuit, target_device="gpu")

    That needs an NVIDIA GPU of compute capability 8.0 or later (A100, 2020) and its driver, 450 or
    later; nothing else of CUDA. `target_device="auto"` takes a GPU where there is one.
    """

    title: ClassVar[str] = "No GPU"
    message: ClassVar[str] = "{reason}"
    help: ClassVar[str] = 'target_device="auto" takes a GPU where there is one, else the processor'
    reason: str


class GpuFailedError(DiastaseError, RuntimeError):
    """A function of CUDA's driver has failed while a program ran on a GPU.

    The message has CUDA's own code. Code 3 is that of a process that was forked from one that had
    used the GPU, which CUDA does not allow: start it anew (`multiprocessing`'s method `"spawn"`).
    Memory of the GPU that does not suffice is an `OutOfMemoryError`; code 2 is that of a driver
    that has none left for itself.
    """

    title: ClassVar[str] = "The GPU failed"
    message: ClassVar[str] = "{construct}: {function} returned CUDA's error {code}"
    label: ClassVar[str] = "the state was made here"
    help: ClassVar[str] = "{advice}"
    construct: str
    function: str
    code: int
    advice: str = "run it on the processor: leave target_device out"


class SizeTooLargeError(DiastaseError, ValueError):
    """A matrix is too large for the numerical library that would work on it.

    LAPACK counts rows, columns and the elements of its workspace with 32 bits. An
    eigendecomposition of 40000 rows, say, wants a workspace of more than 2**31 numbers. Divide
    the problem, or use another algorithm.
    """

    title: ClassVar[str] = "Size too large"
    message: ClassVar[str] = "{construct} needs the size {size}, its library allows {largest}"
    label: ClassVar[str] = "too large for its library"
    help: ClassVar[str] = "the library counts rows, columns and workspace with 32 bits"
    construct: str
    size: int
    largest: int


class InvalidThreadsError(DiastaseError, ValueError):
    """The environment variable for the number of threads holds something else.

        DIASTASE_NUM_THREADS=all python program.py

    Unset it to use all processors that the process may run on, or give a number.
    """

    title: ClassVar[str] = "Invalid number of threads"
    message: ClassVar[str] = "{variable} is {value!r}, which is no number from 1 to {most}"
    help: ClassVar[str] = "unset it to use all processors that this process may run on"
    variable: str
    value: str
    most: int


class DebugAssertionError(DiastaseError, RuntimeError, AssertionError):
    """What a `debug_assert` of the program, or an `assert` of AutoGraph's, says does not hold.

    With `qjit(disable_assertions=True)` nothing is checked.
    """

    title: ClassVar[str] = "Assertion failed"
    message: ClassVar[str] = "{what}"
    label: ClassVar[str] = "does not hold"
    what: str
