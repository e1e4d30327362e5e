"""Pictures of compiled circuits: what is read from jaxprs, text, figures."""

import itertools
import sys

import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pennylane as qml
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import FancyBboxPatch

from diastase import cond, draw_graph, for_loop, measure, passes, qjit, switch, while_loop
from diastase.inspection.levels import levels_of
from diastase.inspection.pictures.errors import NoMatplotlibError
from diastase.inspection.pictures.figure import draw_figure
from diastase.inspection.pictures.items import (
    Branch,
    Measurement,
    Operation,
    Picture,
    Region,
    Result,
    leaves_of,
)
from diastase.inspection.pictures.read import MOST_ITEMS, read_circuit
from diastase.inspection.pictures.reader import Reading
from diastase.inspection.pictures.text import drawn


def picture_of(compiled, args, names=(), **reading):
    (level,) = levels_of(compiled, "user", args, {})
    (circuit,) = level.circuits
    arguments = dict(zip(names, args, strict=False))
    return read_circuit(circuit, arguments, Reading(**reading))


def circuit_on(wires):
    return lambda body: qml.QNode(body, qml.device("lightning.qubit", wires=wires))


# --- what is read ---------------------------------------------------------------------------------


def test_the_items_of_a_circuit():
    @qjit
    @circuit_on(3)
    def circuit(x, n: int):
        @for_loop(1, n, 2)
        def loop(i):
            qml.CRX(2 * x, [0, i])
            outcome = measure(i, reset=True)
            cond(outcome)(qml.X)(2)

        cond(x > 0.25)(lambda: qml.Rot(x, 0.5, -x, 1))()
        loop()
        return qml.expval(qml.Z(0) @ qml.X(2)), qml.probs()

    picture = picture_of(circuit, (0.3, 3))
    rotation = Operation("Rot", (1,), ("x", "0.50", "-x"))
    inner = Branch("if m0", (Operation("X", (2,)),))
    body = (
        Operation("RX", ("i",), ("2*x",), (0,), (True,)),
        Measurement("m0", ("i",), reset=True),
        Region((inner,)),
    )
    assert picture == Picture(
        "circuit",
        ("0", "1", "2"),
        (
            Region((Branch("if x > 0.25", (rotation,)),)),
            Region((Branch("for i in range(1, n, 2)", body),)),
        ),
        (Result("<Z@X>", (0, 2)), Result("Probs")),
    )


EXPRESSIONS = {
    "x + 1": lambda x, v, n: x + 1,
    "-x": lambda x, v, n: -x,
    "x - (x + 2)": lambda x, v, n: x - (x + 2),
    "(x + 1)*x": lambda x, v, n: (x + 1) * x,
    "-(x + 1)": lambda x, v, n: -(x + 1),
    "x/(2*x)": lambda x, v, n: x / (2 * x),
    "x**3": lambda x, v, n: x**3,
    "sin(x)": lambda x, v, n: jnp.sin(x),
    "v[1]": lambda x, v, n: v[1],
    "v[n]": lambda x, v, n: v[n],
    "v[n - 1]": lambda x, v, n: v[n - 1],
    "π/2**n": lambda x, v, n: jnp.pi / 2**n,
    "n % 3": lambda x, v, n: n % 3,
    "(n + 1)//2": lambda x, v, n: (n + 1) // 2,
    "int(x)": lambda x, v, n: x.astype(int),
    "x if n > 1 else 0.5": lambda x, v, n: jnp.where(n > 1, x, 0.5),
    "n + 3 if n < 0 else n": lambda x, v, n: jnp.where(n < 0, n + 3, n),
    "f(x, v)": lambda x, v, n: x * x + jnp.sin(v[0] + 2 * v[1] * jnp.cos(x * v[2])),
    "v[n, 0]": lambda x, v, n: v.reshape(3, 1)[n, 0],
    "reshape(concatenate(v, v))[n, 1]": lambda x, v, n: jnp.concatenate([v, v]).reshape(3, 2)[n, 1],
    "0.75": lambda x, v, n: 0.75,
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression):
    @qjit
    @circuit_on(1)
    def circuit(x, v, n: int):
        qml.RX(EXPRESSIONS[expression](x, v, n), 0)
        return qml.state()

    (gate,) = picture_of(circuit, (0.3, jnp.ones(3), 2)).items
    assert gate.parameters == (expression,)


def test_names_of_what_loops_carry():
    @qjit
    @circuit_on(2)
    def circuit(x):
        @while_loop(lambda k, angle: k < 3)
        def loop(k, angle):
            qml.RX(angle, k)
            return k + 1, angle / 2

        k, _ = loop(0, x)
        qml.RY(k * x, 0)
        return qml.state()

    loop, after = picture_of(circuit, (0.3,)).items
    assert loop == Region((Branch("while k < 3", (Operation("RX", ("k",), ("angle",)),)),))
    assert after.parameters == ("k*x",)


def test_choices():
    @qjit
    @circuit_on(1)
    def circuit(x, k: int):
        choose = cond(x > 1)(lambda: qml.RX(x, 0))
        choose.else_if(x > 0)(lambda: qml.RY(x, 0))
        choose.otherwise(lambda: qml.RZ(x, 0))
        choose()
        chosen = switch(k)(lambda: qml.T(0))
        chosen.branch(3)(lambda: qml.S(0))
        chosen.branch(-1)(lambda: qml.X(0))
        chosen()
        return qml.state()

    regions = picture_of(circuit, (0.3, 1)).items
    titles = [[(b.title, b.items[0].name) for b in region.branches] for region in regions]
    assert titles == [
        [("if x > 1", "RX"), ("elif x > 0", "RY"), ("else", "RZ")],
        [("switch k: case 3", "S"), ("case -1", "X"), ("default", "T")],
    ]


def test_wires_without_a_device_that_has_them():
    @qjit
    @qml.qnode(qml.device("lightning.qubit"))
    def circuit(angles):
        for_loop(0, 3, 1)(lambda i: qml.RX(angles["first"][0], 2))()
        qml.CNOT([0, 2])
        return qml.expval(qml.Z(5))

    picture = picture_of(circuit, ({"first": jnp.ones(2)},))
    assert picture.labels == ("0", "2", "5")
    loop, gate = picture.items
    assert loop.branches[0].items == (Operation("RX", (1,), ("angles['first'][0]",)),)
    assert gate == Operation("X", (1,), (), (0,), (True,))
    assert picture.results == (Result("<Z>", (2,)),)

    @qjit
    def of_a_traced_number(n: int):
        @circuit_on(n)
        def circuit():
            for_loop(0, n, 1)(lambda i: qml.Hadamard(i))()
            return qml.expval(qml.Z(0))

        return circuit()

    assert picture_of(of_a_traced_number, (3,)).labels == ("0", "…")


def written(x, n, angles):
    """A circuit of gates that the compiler keeps, with all control flow, for known arguments."""

    @for_loop(0, n, 1)
    def outer(i):
        qml.RX(x * i, i)

        @for_loop(n - 1, i, -1)
        def inner(j):
            qml.CRZ(angles[j] - x, [j, i])

        inner()
        cond(i % 2 == 0)(lambda: qml.S(i))()

    @while_loop(lambda k: k < n)
    def repeat(k):
        qml.Hadamard(n - 1 - k)
        return k + 2

    outer()
    repeat(0)
    qml.adjoint(qml.T)((n + 1) % 2)
    return qml.expval(qml.Z(0))


@pytest.mark.parametrize("n", [1, 2, 4])
def test_unrolled_circuits_are_those_of_pennylane(n):
    angles = np.linspace(0.1, 0.9, 4)
    picture = picture_of(
        qjit(circuit_on(4)(written)), (0.3, n, angles), ("x", "n", "angles"), unroll=True
    )
    tape = qml.tape.make_qscript(written)(0.3, n, angles)
    found = [(item.name, *item.controls, *item.targets, *item.parameters) for item in picture.items]
    assert found == [
        (op.label(), *op.wires, *(f"{float(number):.2f}" for number in op.parameters))
        for op in tape.operations
    ]


def test_what_is_not_known_stays_a_box():
    @qjit
    @circuit_on(2)
    def circuit(n: int):
        @for_loop(0, n, 1)
        def loop(i):
            outcome = measure(i)
            cond(outcome)(qml.X)(i)

        loop()
        return qml.state()

    text = qml.draw(circuit, unroll=True)(2)
    assert (text.count("if m0"), text.count("if m1")) == (1, 1)
    assert len(picture_of(circuit, (2,), ("n",), unroll=True).items) == 4
    assert len(picture_of(circuit, (MOST_ITEMS * 10,)).items) == 1


# --- text -----------------------------------------------------------------------------------------


@qjit
@circuit_on(3)
def looped(x, n: int):
    qml.Hadamard(1)
    qml.QubitUnitary(jnp.array([[0, 1], [1, 0]]), 0)
    for_loop(0, n, 1)(lambda i: qml.RX(x, 1))()
    return qml.expval(qml.Z(1))


def test_options_of_text():
    options = {"wire_order": [1, 0], "show_matrices": False}
    assert qml.draw(looped, **options)(0.5, 2) == (
        "          ╭for i in range(n)─╮\n"
        "1: ──H────┤───RX(x)──────────├─┤  <Z>\n"
        "0: ──U(M0)┤──────────────────├─┤\n"
        "          ╰──────────────────╯"
    ).replace("H────┤", "H─────┤").replace("(M0)┤", "(M0)─┤").replace("          ", "           ")
    shown = qml.draw(looped, decimals=None, show_all_wires=True, show_wire_labels=False)(0.5, 2)
    assert "RX──" in shown
    assert "x" not in shown
    assert shown.endswith("M0 = \n[[0.+0.j 1.+0.j]\n [1.+0.j 0.+0.j]]")
    assert len([line for line in shown.splitlines() if "├" in line]) == 3


def test_long_lines_go_on_below():
    gates = tuple(Operation("RX", (k % 2,), (f"{k}",)) for k in range(30))
    region = Region((Branch("for i in range(n)", gates),))
    picture = Picture("long", ("0", "1"), (region,), (Result("State"),))
    text = drawn(picture, 60)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 60
    assert text.count("RX(") == 30
    assert text.count("╭for") == text.count("╮") == 1
    whole = drawn(picture, None).splitlines()
    assert len(whole) == 4
    assert drawn(picture, 1).count("RX(") == 30
    one = Picture("one", ("0",), (Operation("RX", ("i + 1",), ("x",)),) * 9, (Result("State"),))
    assert drawn(one, 50).count("[RX(x) on i + 1]") == 9


def test_pauli_words():
    items = (
        Operation("R", (0, 1, 3), ("x",), letters="XYZ"),
        Measurement("m0", (0, 2), "XZ", postselect=1),
        Operation("R", ("i", 1), ("x",), letters="XZ"),
    )
    text = drawn(Picture("words", tuple("0123"), items, ()))
    assert text == (
        "0: ─╭X(x)─╭┤X↗₁m0├─╭RXZ(x) on i, 1╮─┤\n"
        "1: ─├Y(x)─│────────│              │─┤\n"
        "2: ─│─────╰┤Z↗₁m0├─│              │─┤\n"
        "3: ─╰Z(x)──────────╰──────────────╯─┤"
    )


def test_conditions_come_after_their_measurements():
    items = (
        Measurement("m0", (0,)),
        Region((Branch("if m0", (Operation("X", (1,)),)),)),
        Operation("RX", (1,), ("x*m0",)),
    )
    rows = drawn(Picture("feed", ("0", "1"), items, ())).splitlines()[1:3]
    assert rows[0].index("m0") < rows[1].index("X")


# --- levels ---------------------------------------------------------------------------------------


def test_levels():
    @qjit
    @passes.merge_rotations
    @circuit_on(1)
    def circuit(x):
        qml.RX(x, 0)
        qml.RX(0.5, 0)
        return qml.state()

    assert qml.draw(circuit)(0.3) == "0: ──RX(x + 0.5)─┤  State"
    assert qml.draw(circuit, level="top")(0.3) == "0: ──RX(0.30)──RX(0.50)─┤  State"
    assert qml.draw(circuit, level=[0, 1])(0.3) == (
        "circuit, level 0 (Before transforms):\n0: ──RX(x)──RX(0.50)─┤  State\n\n"
        "circuit, level 1 (merge_rotations):\n0: ──RX(x + 0.5)─┤  State"
    )


def test_functions_that_call_circuits():
    @circuit_on(1)
    def circuit(y):
        qml.RX(y, 0)
        return qml.expval(qml.Z(0))

    both = qjit(lambda x: circuit(2 * x) + circuit(jnp.sin(x)))
    assert qml.draw(both)(0.3) == (
        "circuit:\n0: ──RX(2*x)─┤  <Z>\n\ncircuit:\n0: ──RX(sin(x))─┤  <Z>"
    )
    (gate,) = picture_of(qjit(lambda x: circuit(2 * x)), (0.3,), ("x",), unroll=True).items
    assert gate.parameters == ("0.60",)
    plain = qjit(lambda x: qml.RX(x, 0))
    assert "RX(0.30)" in qml.draw(plain)(0.3)


# --- figures --------------------------------------------------------------------------------------


@qjit
@circuit_on(["a", "b", "long label", 3])
def busy(x, n: int):
    qml.Hadamard("a")

    @for_loop(0, n, 1)
    def loop(i):
        qml.RX(x * i, "a")
        qml.CNOT(["a", "b"])

        @for_loop(0, i, 1)
        def inner(j):
            qml.IsingXX(x, ["a", "long label"])
            qml.ctrl(qml.S, "a", control_values=[0])(3)

        inner()
        qml.SWAP(["b", 3])

    loop()
    outcome = measure("a", postselect=1)
    cond(outcome)(lambda: qml.Rot(x, 2 * x, 3 * x, 3))()
    choose = cond(x > 0.5)(lambda: qml.RY(x, "b"))
    choose.otherwise(lambda: qml.RZ(jnp.sin(x) + 1, "long label"))
    choose()
    return qml.expval(qml.Z("b") @ qml.Z(3)), qml.var(qml.X("a")), qml.probs()


def extents(axes):
    """The texts and the boxes of gates, as they lie in a figure."""
    renderer = FigureCanvasAgg(axes.figure).get_renderer()
    boxes = [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
    frames = [box for box in boxes if box.get_zorder() < 1]
    gates = [box for box in boxes if box not in frames]
    texts = [text for text in axes.texts if text.get_text()]
    bounds = [[one.get_window_extent(renderer) for one in part] for part in (texts, gates, frames)]
    return renderer, texts, *bounds


def overlap(one, other):
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    return width > 1 and min(one.y1, other.y1) - max(one.y0, other.y0) > 1


def is_within(one, other):
    return other.x0 <= one.x0 and one.x1 <= other.x1 and other.y0 <= one.y0 and one.y1 <= other.y1


def many_words():
    gates = [Operation("R", (0, 1), ("x + 1",), letters="XY"), Measurement("m0", (0, 1), "XY")]
    gates += [Operation("CRX", ("i", 1), ("x",)), Operation("GlobalPhase", (), ("x",))]
    region = Region((Branch("for i in range(n)", tuple(gates)),))
    deep = Region((Branch("if m0", (region,)), Branch("else", ())))
    return draw_figure(
        Picture("words", ("0", "1"), (deep,), (Result("State"), Result("<Z>", (0,))))
    )


@pytest.mark.parametrize(
    "drawing", [lambda: draw_graph(busy)(0.3, 2), lambda: draw_graph(looped)(0.3, 2), many_words]
)
def test_nothing_lies_on_anything_else(drawing):
    figure, axes = drawing()
    _, texts, text_bounds, gates, frames = extents(axes)
    for one, other in itertools.combinations(text_bounds, 2):
        assert not overlap(one, other)
    for frame, other in itertools.combinations(frames, 2):
        assert not overlap(frame, other) or is_within(other, frame) or is_within(frame, other)
    for text in text_bounds:
        assert is_within(text, figure.bbox), texts
        assert all(is_within(text, gate) or not overlap(text, gate) for gate in gates)


def test_figures_have_all_that_the_text_has():
    _, axes = draw_graph(busy)(0.3, 2)
    _, _, _, gates, frames = extents(axes)
    texts = {text.get_text() for text in axes.texts}
    titles = {"for i in range(n)", "for j in range(i)", "if m0", "if x > 0.5", "else"}
    assert titles | {"a", "long label", "(x*i)", "(x,2*x,3*x)", "<Z@Z>", "m0 = 1"} <= texts
    assert len(frames) == 4
    picture = picture_of(busy, (0.3, 2))
    drawn_as_boxes = [
        leaf
        for leaf in (*leaves_of(picture.items), *picture.results)
        if isinstance(leaf, Measurement | Result) or leaf.name not in ("X", "SWAP")
    ]
    notches = 2 * 2  # of IsingXX, on wires that are not neighbours
    assert len(gates) == len(drawn_as_boxes) + notches


def test_figures_belong_to_the_caller_alone():
    before = dict(mpl.rcParams)
    figures = pyplot.get_fignums()
    figure, axes = draw_graph(looped)(0.3, 2)
    same, _ = qml.draw_mpl(looped, decimals=2, style="black_white_dark")(0.3, 2)
    assert dict(mpl.rcParams) == before
    assert pyplot.get_fignums() == figures
    assert figure._repr_svg_().startswith("<?xml")
    assert axes.figure is figure
    assert figure.get_facecolor() != same.get_facecolor()
    texts = [text.get_text() for text in axes.texts]
    assert texts == [text.get_text() for text in same.axes[0].texts]
    assert "(x)" not in {t.get_text() for t in qml.draw_mpl(looped)(0.3, 2)[1].texts}


def test_without_matplotlib(monkeypatch):
    name = "diastase.inspection.pictures.figure"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr("diastase.inspection.pictures.draw.figure", Missing())
    with pytest.raises(NoMatplotlibError, match="pip install matplotlib"):
        draw_graph(looped)(0.3, 2)
    assert "RX" in qml.draw(looped)(0.3, 2)


class Missing:
    """A module that needs matplotlib where there is none."""

    def __getattr__(self, name):
        raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib.axes")
