"""`qml.draw`, `qml.draw_mpl` and `draw_graph` of compiled functions.

A QNode without control flow and without passes is what PennyLane draws of its tape: it has the
operators as the user wrote them. Anything else is drawn from the jaxpr of the compiled circuit, at
the level that is asked for (`inspection.levels`); if none is, after all passes.

The trap: each drawing traces the function again, so side effects of tracing happen again; but
nothing is compiled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

import jax
import numpy as np

from diastase.inspection.levels import CompiledFunction, Level, levels_of
from diastase.inspection.pictures import text
from diastase.inspection.pictures.errors import (
    DrawingOptionError,
    NoMatplotlibError,
    NothingToDrawError,
    SeveralPicturesError,
)
from diastase.inspection.pictures.items import Picture, Region, is_placed
from diastase.inspection.pictures.read import Reading, read_circuit
from diastase.tracing.signatures import Signature
from diastase_mlir import user_span
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from diastase.inspection.pictures import figure
else:
    figure = LazyModule("diastase.inspection.pictures.figure")

_FIGURE_OPTIONS = ("style", "show_wire_labels", "wire_options", "label_options")


class Drawable(CompiledFunction, Protocol):
    """What is known here of a compiled function."""

    @property
    def signature(self) -> Signature:
        """Its parameters."""
        ...


@dataclass(frozen=True)
class _Shown:
    """What of a circuit is to be seen."""

    level: Any = None
    decimals: int | None = 2
    unroll: bool = False
    wire_order: Sequence[Any] | None = None
    show_all_wires: bool = False

    def pictures(
        self, compiled: Drawable, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[tuple[Level, Picture, bool]]:
        """All pictures, each with its level and whether PennyLane could draw it as well."""
        level = "user" if self.level is None else self.level
        arguments = _arguments(compiled.signature, args, kwargs)
        reading = Reading(self.decimals, self.unroll)
        found = list[tuple[Level, Picture, bool]]()
        for one in levels_of(compiled, level, args, kwargs):
            for circuit in one.circuits:
                picture = read_circuit(circuit, arguments, reading)
                is_plain = not circuit.traced.settings.steps.passes and not any(
                    isinstance(item, Region) for item in picture.items
                )
                is_written = is_plain and all(
                    is_placed(item) for item in picture.items if not isinstance(item, Region)
                )
                found.append((one, picture.with_rows(self._rows(picture)), is_written))
        return found

    def _rows(self, picture: Picture) -> list[int]:
        """The rows that are shown, from the top."""
        used = range(len(picture.labels)) if self.show_all_wires else picture.used_rows()
        places = {label: row for row, label in enumerate(picture.labels)}
        order = [] if self.wire_order is None else list(self.wire_order)
        first = [places[str(label)] for label in order if str(label) in places]
        return [row for row in dict.fromkeys([*first, *used]) if row in used]


def _arguments(
    signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The values of the traced arguments, by the user's names for them."""
    call = signature.split(args, kwargs)
    with_paths, _ = jax.tree_util.tree_flatten_with_path((call.args, call.kwargs))
    return {
        signature.leaf_name(path, call): leaf
        for path, leaf in with_paths
        if isinstance(leaf, np.ndarray | np.generic | jax.Array | bool | int | float | complex)
    }


def draw(
    original: Callable[..., Any],
    compiled: Drawable,
    wire_order: Sequence[Any] | None = None,
    show_all_wires: bool = False,
    decimals: int | None = 2,
    *,
    max_length: int | None = 100,
    show_matrices: bool = True,
    show_wire_labels: bool = True,
    level: Any = None,
    unroll: bool = False,
) -> Callable[..., str]:
    """`qml.draw` of a compiled function: a function of its arguments that gives the text.

    Options are PennyLane's, and `unroll`: repeat loops, and choose branches, as far as the
    arguments' values say how. `original` is PennyLane's function, for circuits that it can draw.
    """
    shown = _Shown(level, decimals, unroll, wire_order, show_all_wires)

    @wraps(compiled.original_function)
    def drawn(*args: Any, **kwargs: Any) -> str:
        pictures = shown.pictures(compiled, args, kwargs)
        if _is_left_to_pennylane(compiled, pictures):
            options = {} if level is None else {"level": level}
            return original(
                compiled.original_function, wire_order, show_all_wires, decimals,
                max_length=max_length, show_matrices=show_matrices,
                show_wire_labels=show_wire_labels, **options,
            )(*args, **kwargs)  # fmt: skip
        titles = _titles(pictures)
        parts = [
            title + text.drawn(picture, max_length, show_wire_labels)
            for title, (_, picture, _) in zip(titles, pictures, strict=True)
        ]
        if show_matrices:
            parts = [
                part + _matrices(picture)
                for part, (_, picture, _) in zip(parts, pictures, strict=True)
            ]
        return "\n\n".join(parts)

    return drawn


def _is_left_to_pennylane(
    compiled: Drawable, pictures: Sequence[tuple[Level, Picture, bool]]
) -> bool:
    """Whether PennyLane is to draw what was compiled: a plain QNode, or no QNode at all."""
    is_qnode = hasattr(compiled.original_function, "construct")
    return not pictures or (is_qnode and all(is_written for *_, is_written in pictures))


def _titles(pictures: Sequence[tuple[Level, Picture, bool]]) -> list[str]:
    """A line for each of several pictures: its QNode, and its level."""
    if len(pictures) == 1:
        return [""]
    numbers = {level.number for level, *_ in pictures}
    return [
        f"{picture.name}, level {level.number} ({level.name}):\n"
        if len(numbers) > 1
        else f"{picture.name}:\n"
        for level, picture, _ in pictures
    ]


def _matrices(picture: Picture) -> str:
    shown = "".join(f"\nM{number} = \n{matrix}" for number, matrix in enumerate(picture.matrices))
    return f"\n{shown}" if shown else ""


def draw_mpl(
    original: Callable[..., Any],
    compiled: Drawable,
    wire_order: Sequence[Any] | None = None,
    show_all_wires: bool = False,
    decimals: int | None = None,
    style: str | None = None,
    *,
    level: Any = None,
    unroll: bool = False,
    **options: Any,
) -> "Callable[..., tuple[Figure, Axes]]":
    """`qml.draw_mpl` of a compiled function: a function of its arguments that gives the figure."""
    shown = _Shown(level, decimals, unroll, wire_order, show_all_wires)

    @wraps(compiled.original_function)
    def drawn(*args: Any, **kwargs: Any) -> "tuple[Figure, Axes]":
        pictures = shown.pictures(compiled, args, kwargs)
        if _is_left_to_pennylane(compiled, pictures):
            given = options if level is None else {**options, "level": level}
            return original(
                compiled.original_function, wire_order, show_all_wires, decimals, style, **given
            )(*args, **kwargs)
        return _figure(compiled, pictures, {**options, "style": style})

    return drawn


def draw_graph(
    qnode: Any,
    *,
    level: Any = None,
    decimals: int | None = 2,
    unroll: bool = False,
    wire_order: Sequence[Any] | None = None,
    show_all_wires: bool = False,
    **options: Any,
) -> "Callable[..., tuple[Figure, Axes]]":
    """Draw the circuit of a compiled function as a figure of matplotlib, with loops as boxes.

    Args:
        qnode: a compiled function that runs circuits.
        level: how many passes have been applied, or a name of `qml.specs`: "top" before all, "user"
            (the default) after all, a marker's name.
        decimals: of numbers in the picture; None leaves parameters out.
        unroll: repeats loops, and chooses branches, as far as the arguments say how.
        wire_order: labels of wires, from the top.
        show_all_wires: also those on which nothing happens.
        **options: `style`, `show_wire_labels`, `wire_options`, `label_options` of `qml.draw_mpl`.

    Returns:
        A function of the arguments of `qnode`, which gives a figure and its axes. pyplot does not
        know the figure, which shows itself in a notebook, as SVG, and is written by `savefig`.

    Raises:
        UnknownLevelError: a `ValueError`, for a level that there is not.
        SeveralPicturesError: a `ValueError`, where there are several circuits.
        NothingToDrawError: a `TypeError`, for what is not compiled, or runs no circuit.
        DrawingOptionError: a `TypeError`, for an option that there is not.
        NoMatplotlibError: an `ImportError`, where matplotlib is not installed.

    Example:
        >>> import pennylane as qml
        >>> from diastase import draw_graph, for_loop, qjit
        >>> @qjit
        ... @qml.qnode(qml.device("lightning.qubit", wires=1))
        ... def circuit(n: int):
        ...     for_loop(0, n, 1)(lambda i: qml.RX(0.1 * i, 0))()
        ...     return qml.probs()
        >>> figure, axes = draw_graph(circuit)(5)
        >>> any("for" in text.get_text() for text in axes.texts)
        True

    """
    if not all(hasattr(qnode, name) for name in ("original_function", "like", "signature")):
        raise NothingToDrawError(
            function=getattr(qnode, "__name__", type(qnode).__name__), span=user_span(),
            reason="is not compiled", instead="compile it with qjit, or use qml.draw_mpl",
        )  # fmt: skip
    shown = _Shown(level, decimals, unroll, wire_order, show_all_wires)

    @wraps(qnode.original_function)
    def drawn(*args: Any, **kwargs: Any) -> "tuple[Figure, Axes]":
        return _figure(qnode, shown.pictures(qnode, args, kwargs), options)

    return drawn


def _figure(
    compiled: Drawable,
    pictures: Sequence[tuple[Level, Picture, bool]],
    options: Mapping[str, Any],
) -> "tuple[Figure, Axes]":
    unknown = [option for option in options if option not in _FIGURE_OPTIONS]
    if unknown:
        allowed = ("level", "decimals", "unroll", "wire_order", "show_all_wires", *_FIGURE_OPTIONS)
        raise DrawingOptionError(option=unknown[0], allowed=", ".join(allowed), span=user_span())
    name = compiled.__name__
    if not pictures:
        raise NothingToDrawError(
            function=name, reason="has none that is compiled", span=user_span(),
            instead="draw a compiled QNode, or a function that calls one",
        )  # fmt: skip
    if len(pictures) > 1:
        names = [f"{picture.name} (level {level.number})" for level, picture, _ in pictures]
        raise SeveralPicturesError(
            function=name, number=len(names), names=", ".join(names), span=user_span()
        )
    try:
        draw_figure = figure.draw_figure
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise NoMatplotlibError(span=user_span()) from error
    return draw_figure(pictures[0][1], **options)
