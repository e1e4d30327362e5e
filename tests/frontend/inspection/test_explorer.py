"""The page of the explorer: which lines light up together, and programs that are difficult."""

import __future__

import functools
import linecache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import debug, grad, measure, qjit
from diastase.inspection.explorer.columns import Column, in_runs, within
from diastase.jit.options.errors import NotCompiledError
from diastase_runtime.errors import Span
from explorer_pages import TRACED, PageReader, Shown, module_of

ANGLES, POINTS = jnp.array([0.3, 0.4]), jnp.arange(3.0)

BY_HAND = {
    8: ("sin", "stablehlo.sine", "elementary__sin", "call"),
    13: ("name=Hadamard", '"Hadamard"', "tail call", "call"),
    14: ("name=RX", '"RX"', "tail call", "call"),
    15: ("= add", "stablehlo.add", "fadd double", "vaddsd"),
    19: ("name=CNOT", '"CNOT"', "tail call", "call"),
    21: ("for_loop", "scf.for", "icmp", "j"),
    22: ("expval_pauli", "quantum.expval_pauli", "tail call double", "call"),
    24: ("qnode", "quantum.alloc", "tail call ptr", "call"),
    25: ("reduce_sum", "stablehlo.reduce", "fadd", "add"),
}
"""Of each line of `TRACED` that computes something: what it must be in the jaxpr, in MLIR, in
optimised LLVM IR and in assembly. `merge_rotations` makes line 15 an addition."""


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    function = module_of(tmp_path_factory.mktemp("traced") / "traced_by_hand.py", TRACED)
    function(ANGLES, POINTS)
    return function, function.explore()


def test_each_line_lights_what_it_became_in_each_column(traced):
    shown = Shown(traced[1])
    wanted = {place + 1: line for place, line in enumerate(TRACED.split("\n"))}
    for number, words in BY_HAND.items():
        lit = shown.lit_by(number)
        assert lit["source"] == [wanted[number]]
        columns = ("jaxpr", "mlir", "optimise", "assembly")
        for column, word in zip(columns, words, strict=True):
            assert any(word in line for line in lit[column]), (number, column, lit[column])
        assert all(lit.values()), (number, [name for name, lines in lit.items() if not lines])
    computing = {n for n, group in zip(shown.columns["source"]["numbers"], shown.of_line["source"],
                                       strict=True) if group}  # fmt: skip
    assert computing == BY_HAND.keys()


def test_lines_of_two_statements_do_not_light_each_other(traced):
    shown = Shown(traced[1])
    lit = {number: shown.lit_by(number) for number in BY_HAND}
    assert not any('"CNOT"' in line for line in lit[13]["mlir"])
    assert not any('"Hadamard"' in line for line in lit[19]["mlir"])
    assert not any("sine" in line for number in lit if number != 8 for line in lit[number]["mlir"])


def test_columns_are_the_texts_that_the_function_shows(traced):
    function, page = traced
    lines = Shown(page).lines
    assert lines["jaxpr"] == str(function.jaxpr).split("\n")
    assert lines["mlir"] == function.mlir.rstrip("\n").split("\n")
    assert lines["to-llvm"] == function.mlir_opt.rstrip("\n").split("\n")
    assert lines["optimise"] == function.llvm_ir.rstrip("\n").split("\n")
    stages = debug.get_compilation_stages_groups(function.compile_options)
    assert [*lines][3:-3] == [name for name, _ in stages]


def test_circuits_before_and_after_passes_are_drawn(traced):
    reader = PageReader(traced[1].html)
    images = reader.of("img")
    assert len(images) == 2
    assert all(image["src"].startswith("data:image/svg+xml;base64,") for image in images)
    captions = [text for text in reader.texts if text.startswith("circuit, level")]
    assert captions == ["circuit, level 0: Before transforms", "circuit, level 1: merge_rotations"]


def test_times_and_sizes_of_all_stages_are_in_a_table(traced):
    reader, shown = PageReader(traced[1].html), Shown(traced[1])
    assert sum(tag == "tr" for tag, _ in reader.elements) == len(shown.columns)  # and a head
    assert "MLIR" in reader.texts
    assert f"{len(shown.lines['mlir']):,}" in reader.texts
    assert sum(text.endswith(" ms") for text in reader.texts) == len(shown.columns) - 2


def test_a_page_needs_nothing_else(traced):
    """No element names another file or address."""
    reader = PageReader(traced[1].html)
    addresses = [
        value for _, attributes in reader.elements for name, value in attributes.items()
        if name in ("src", "href", "action", "data") and not value.startswith("data:")
    ]  # fmt: skip
    assert addresses == []
    style = traced[1].html.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_a_page_is_written_and_shows_itself(traced, tmp_path):
    _, page = traced
    assert page.path.read_text() == page.html
    saved = page.save(tmp_path / "page.html")
    assert saved == page.path == tmp_path / "page.html"
    assert saved.read_text() == page.html
    (frame,) = PageReader(page._repr_html_()).of("iframe")
    assert frame["srcdoc"] == page.html
    assert frame["sandbox"] == "allow-scripts"
    assert str(saved) in str(page)


EVIL = "</script><script>alert(1)</script>"


def test_names_that_are_html_are_text(tmp_path):
    """Of functions, arguments, wires and files; nothing of them is an element."""
    folder = tmp_path / "<b>&amp;"
    folder.mkdir()
    source = f"""
import pennylane as qml
from diastase import qjit
wire = {EVIL!r}

def named(angles):
    qml.RX(angles[{EVIL!r}], wire)  # {EVIL} <!--
    qml.CNOT(["<!--", '"&'])
    return qml.expval(qml.Z(wire))

named.__name__ = named.__qualname__ = "<i>{EVIL}"
circuit = qjit(qml.QNode(named, qml.device("lightning.qubit", wires=[wire, "<!--", '"&'])))
"""
    function = module_of(folder / "<i>.py", source, "circuit")
    page = function.explore({EVIL: 0.3})
    reader = PageReader(page.html)
    assert len(reader.scripts) == 2
    assert len(reader.of("script")) == 2
    assert not reader.of("i")
    assert "alert" not in reader.scripts[1]
    assert f"<i>{EVIL}(angles['{EVIL}']: float64[]) -> float64[]" in reader.texts
    assert f"<i>{EVIL}, level 0: Before transforms" in reader.texts
    shown = Shown(page)
    assert any(EVIL in line for line in shown.lines["source"])
    assert shown.lines["source"][0] == str(folder / "<i>.py")
    assert all(shown.lit_by(7).values())


def test_a_function_that_is_not_compiled_says_what_to_do():
    function = qjit(lambda x: x + 1)
    with pytest.raises(NotCompiledError, match=r"call .* first, or use .*explore\(\.\.\.\)"):
        function.explore()
    page = function.explore(jax.ShapeDtypeStruct((3,), np.float32))
    assert "float32[3]" in page.html


def gates(count):
    lines = [f"    qml.RX({n / 7:.4f} * x, {n % 5})" for n in range(count)]
    head = ["import pennylane as qml", "from diastase import qjit", "@qjit",
            "@qml.qnode(qml.device('lightning.qubit', wires=5))", "def many(x):"]  # fmt: skip
    return "\n".join([*head, *lines, "    return qml.expval(qml.Z(0))", ""])


@pytest.mark.parametrize("count", [2500, pytest.param(10_000, marks=pytest.mark.thorough)])
def test_ten_thousand_gates_are_less_than_ten_megabytes(count, tmp_path):
    """Each line has its gate, and all of them the one call that runs them."""
    function = module_of(tmp_path / "many.py", gates(count), "many")
    page = function.explore(0.3)
    assert len(page.html.encode()) < 10_000_000 / 10_000 * count
    shown = Shown(page)
    for number in (6, count // 2, count + 5):
        lit = shown.lit_by(number)
        assert f"RX {(number - 6) % 5} : %" in "\n".join(lit["mlir"])
        assert all(len(lines) < 100 for lines in lit.values())
        assert lit["optimise"]
        assert lit["assembly"]
    assert "More than 2000 operations" in page.html


def test_long_texts_are_cut_where_they_say_it():
    def column(lines, length):
        text = "\n".join("x" * length for _ in range(lines))
        return Column("mlir", "MLIR", "", text, [(Span("a.py", 1),)] * lines)

    short, long, wide = within([column(5, 10), column(1000, 100), column(2, 9000)], 10_000)
    assert short.text.count("x") == 50
    assert sum(len(each.text) for each in (short, long, wide)) < 10_100
    assert long.text.endswith("more lines")
    assert long.spans[-1] == ()
    assert len(long.spans) == long.text.count("\n") + 1
    assert wide.text.endswith("9,000 characters")
    assert in_runs([3, 3, 0, 3]) == [3, 2, 0, 1, 3, 1]


@pytest.mark.parametrize("fate", ["exec", "deleted", "changed", "same"])
def test_source_that_is_gone_says_so(fate, tmp_path):
    source = "from diastase import qjit\n\n@qjit\ndef traced(x):\n    return x * 2\n"
    file = tmp_path / "gone.py"
    if fate == "exec":
        names = {}
        exec(compile(source, "<string>", "exec"), names)
        function = names["traced"]
    else:
        function = module_of(file, source)
    function(1.0)
    linecache.clearcache()
    if fate == "deleted":
        file.unlink()
    elif fate == "changed":
        file.write_text(source.replace("* 2", "* 3"))
    shown = Shown(function.explore())
    heading, *_, last = shown.lines["source"]
    said = {"exec": "cannot be read", "deleted": "cannot be read", "changed": "has changed"}
    assert (said[fate] in heading) if fate in said else (heading == str(file))
    assert last == {"exec": "", "deleted": "", "changed": "    return x * 3"}.get(
        fate, "    return x * 2"
    )
    assert any("stablehlo.multiply" in line for line in shown.lit_by(5)["mlir"])


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("", ""),
        ("%matplotlib inline", " (is not Python: these may not be the lines that were compiled)"),
    ],
)
def test_a_cell_is_compared_as_it_was_compiled(first, said):
    """With `from __future__ import` of an earlier cell; one with magics cannot be compared."""
    source = f"{first}\nfrom diastase import qjit\n@qjit\ndef traced(x: float):\n    return x * 2\n"
    name = f"<ipython-input-1-{hash(source):x}>"
    cell = source.replace("%", "#")
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {}
    flags = __future__.annotations.compiler_flag
    exec(compile(cell, name, "exec", flags, dont_inherit=True), names)
    heading = Shown(names["traced"].explore(1.0)).lines["source"][0]
    assert heading == name + said


def test_a_long_line_says_that_it_is_cut(tmp_path):
    source = "from diastase import qjit\n@qjit\ndef traced(x):\n    return x" + " + 1" * 600 + "\n"
    lines = Shown(module_of(tmp_path / "wide.py", source).explore(1)).lines["source"]
    assert lines[-1] == f"    return x{' + 1' * 600}"[:2000] + " … 2,412 characters"


def test_of_several_programs_the_one_for_the_arguments_is_shown():
    function = qjit(lambda x: x + 1)
    function(1.0)
    function(jnp.ones(3))
    assert "float64[3]) -&gt; float64[3]" in function.explore().html
    first = function.explore(1.0).html
    assert "float64[]) -&gt; float64[]" in first
    assert "<p>The function has" in first


def test_sizes_known_at_run_time():
    function = qjit(lambda x: jnp.sin(x).sum(), abstracted_axes={0: "n"})
    function(jnp.ones(3))
    shown = Shown(function.explore())
    assert any("tensor<?xf64>" in line for line in shown.lines["mlir"])
    line = lambda_line(function)
    assert all(shown.lit_by(line).values())


def lambda_line(function):
    return function.original_function.__code__.co_firstlineno


def test_a_program_of_the_disk_cache_is_shown_whole(tmp_path):
    """The second function has no module before it is asked for a page."""
    pages = []
    for _ in range(2):
        function = module_of(tmp_path / "cached.py", TRACED)
        function(ANGLES, POINTS)
        found = function.compiled_function.found_module
        pages.append(Shown(function.explore()))
    assert function.compiled_function.compilation.from_cache
    assert found is None
    assert pages[0].lines == pages[1].lines
    assert pages[0].of_line == pages[1].of_line


def test_edited_ir_is_shown_and_nothing_before_it_lights():
    function = qjit(lambda x: x * x)
    function(2.0)
    text = debug.get_compilation_stage(function, "scalars")
    debug.replace_ir(function, "scalars", text.replace("mulf", "addf"))
    page = function.explore()
    assert "edited by debug.replace_ir" in page.html
    shown = Shown(page)
    assert any("addf" in line for line in shown.lines["scalars"])
    assert [*shown.lines][:4] == ["source", "jaxpr", "mlir", "scalars"]
    assert shown.lit_by(lambda_line(function))["optimise"] == []


DEVICE = qml.device("lightning.qubit", wires=2)


@qml.qnode(DEVICE)
def inner(x):
    qml.RX(x, 0)
    return qml.expval(qml.Z(0))


@qml.qnode(DEVICE)
def outer(x):
    qml.RY(inner(x), 1)
    return qml.expval(qml.Z(1))


def test_nested_qnodes_and_gradients():
    function = qjit(lambda x: grad(outer)(x))
    page = function.explore(0.2)
    captions = {text for text in PageReader(page.html).texts if ", level 0" in text}
    assert {caption.partition(",")[0] for caption in captions} == {"inner", "outer"}
    shown = Shown(page)
    for code in (inner.func.__code__, outer.func.__code__):
        assert shown.lit_by(code.co_firstlineno + 2)["assembly"]


def test_control_flow_shots_and_static_arguments():
    @qjit(autograph=True, static_argnames="steps", seed=1)
    @qml.qnode(DEVICE, shots=5)
    def circuit(x, turns: int, steps):
        for _ in range(turns):
            if x > 0.1:
                qml.RX(x, 0)
        for _ in range(steps):
            qml.RY(x, 1)
        if measure(0):
            qml.X(1)
        return qml.sample()

    page = circuit.explore(0.3, 3, steps=2)
    first = circuit.original_function.func.__code__.co_firstlineno
    shown = Shown(page)
    for line in (5, 7, 9):
        assert all(shown.lit_by(first + line).values())
    assert "has changed" not in shown.lines["source"][0]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (jnp.sin, (1.0,)),
        (functools.partial(jnp.add, 1.0), (2.0,)),
        (lambda: jnp.ones(3), ()),
    ],
    ids=["a function of JAX", "partial", "no arguments"],
)
def test_functions_without_circuits_or_source(function, arguments):
    compiled = qjit(function)
    compiled(*arguments)
    page = compiled.explore()
    assert "<figure>" not in page.html
    assert str(Path(jax.__file__).parent) not in Shown(page).lines["source"][0]
