"""Errors of pictures."""

from typing import ClassVar

from diastase_runtime.errors import DiastaseError


class PictureTooLargeError(DiastaseError, ValueError):
    """A circuit that is too long to be drawn with its loops unrolled.

        qml.draw(f, unroll=True)(1_000_000)

    Draw it without `unroll`, so that loops are boxes, or for smaller arguments.
    """

    title: ClassVar[str] = "Picture too large"
    message: ClassVar[str] = "{circuit} has more than {most} operations where loops are unrolled"
    help: ClassVar[str] = "draw it with unroll=False, or for smaller arguments"
    circuit: str
    most: int


class NothingToDrawError(DiastaseError, TypeError):
    """`draw_graph` of something that has no circuits: no compiled function, or one without QNodes.

    draw_graph(qjit(lambda x: x + 1))(0.5)
    """

    title: ClassVar[str] = "Nothing to draw"
    message: ClassVar[str] = "draw_graph draws circuits, and {function} {reason}"
    help: ClassVar[str] = "{instead}"
    function: str
    reason: str
    instead: str


class SeveralPicturesError(DiastaseError, ValueError):
    """A figure of a function that calls several QNodes, or of several levels.

        draw_graph(f, level="all")(0.5)

    One figure shows one circuit. `qml.draw` shows all of them, one under the other.
    """

    title: ClassVar[str] = "Several circuits"
    message: ClassVar[str] = "a figure shows one circuit, and {function} has {number}: {names}"
    help: ClassVar[str] = "draw each QNode, and each level, by itself; qml.draw shows all as text"
    function: str
    number: int
    names: str


class DrawingOptionError(DiastaseError, TypeError):
    """An option of `qml.draw` or `qml.draw_mpl` that pictures of compiled circuits do not have.

    It may be one of PennyLane's for circuits that are drawn from their tapes: those without control
    flow, and without passes.
    """

    title: ClassVar[str] = "Unknown option of a picture"
    message: ClassVar[str] = "a picture of a compiled circuit has no option {option}"
    help: ClassVar[str] = "options are {allowed}"
    option: str
    allowed: str


class NoMatplotlibError(DiastaseError, ImportError):
    """A figure of a circuit where matplotlib is not installed."""

    title: ClassVar[str] = "matplotlib is missing"
    message: ClassVar[str] = "figures of circuits are drawn with matplotlib, which is not installed"
    help: ClassVar[str] = "pip install matplotlib, or draw text with qml.draw"
