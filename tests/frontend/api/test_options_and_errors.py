"""Options of `qjit`, and what it says to bad input."""

import copy
import functools
import gc
import html
import inspect
import io
import pickle  # noqa: TID251 - users may
import re
import tempfile
import weakref
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

import diastase
from diastase import qjit


def test_it_looks_like_the_function():
    def function(x: int = 2):
        """Say what it does."""

    compiled = qjit(function)
    assert compiled.__name__ == "function"
    assert compiled.__doc__ == "Say what it does."
    assert compiled.__wrapped__ is compiled.original_function is function
    name = f"qjit {function.__qualname__}(x: int = 2)"
    assert repr(compiled) == f"<{name}, 1 program>"
    assert compiled._repr_html_().startswith(f"<div><b>{html.escape(name)}, 1 program</b>")
    assert repr(qjit(lambda x, *, y=1: x)).endswith("<lambda>(x, *, y=1), not compiled yet>")
    assert compiled.__module__ == __name__
    assert inspect.signature(compiled) == inspect.signature(function)


def test_what_it_was_made_from_and_what_it_became():
    compiled = diastase.QJIT(lambda x: x + 1, diastase.CompileOptions(seed=np.int64(3)))
    assert compiled.compiled_function is None
    assert compiled.compile_options.seed == 3
    assert compiled(1.0) == 2.0
    assert compiled.compiled_function(5.0) == 6.0
    assert compiled.jaxed_function(1.0) == jax.jit(compiled.jaxed_function)(1.0) == 2.0
    assert compiled.llvm_ir == compiled.llvmir
    assert "define" in compiled.llvmir


@qjit
def at_module_level(x):
    return x + 1


def test_copied_and_pickled_by_name():
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level
    assert copy.deepcopy([at_module_level])[0] is at_module_level
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(qjit(lambda x: x))


def test_ways_to_apply_it():
    def function(x):
        return x + 1

    for compiled in (
        qjit(function),
        qjit()(function),
        qjit(keep_intermediate=False)(function),
        qjit(function, target="binary"),
        functools.partial(qjit, static_argnums=())(function),
        qjit(qjit(function)),
    ):
        assert compiled(1) == 2


def test_x64_is_on():
    assert jax.config.jax_enable_x64
    assert set(diastase.__all__) <= set(dir(diastase))


def test_the_page_has_every_option_and_its_default():
    page = Path(__file__).parents[3] / "docs" / "options.md"
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \|", page.read_text(), re.MULTILINE)
    parameters = list(inspect.signature(qjit).parameters.values())[1:]
    assert sorted(rows) == sorted((p.name, repr(p.default)) for p in parameters)
    assert {
        p.name for p in parameters
    } == diastase.jit.options.options.Keywords.__annotations__.keys()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"autograph": 1}, ValueError, "autograph"),
        ({"autograph": True, "autograph_include": "jax"}, ValueError, "autograph_include"),
        ({"statik_argnums": 1}, TypeError, "unexpected keyword argument statik_argnums"),
        ({"target": "gpu"}, ValueError, "target is 'gpu'"),
        ({"keep_intermediate": "all"}, ValueError, "keep_intermediate is 'all'"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"seed": 2**32}, ValueError, "seed is"),
        ({"seed": 1.5}, ValueError, "seed is 1.5"),
    ],
    ids=str,
)
def test_options_that_are_refused(options, error, message):
    with pytest.raises(error, match=message) as caught:
        qjit(lambda x: x, **options)
    assert isinstance(caught.value, diastase.DiastaseError)


def test_later_options_at_their_defaults():
    assert qjit(lambda x: x, autograph=False, capture="global", pass_plugins=None)(1) == 1


def test_not_a_function():
    with pytest.raises(TypeError, match="takes a function, not a int"):
        qjit(3)
    with pytest.raises(TypeError, match="takes a function, not a int"):
        diastase.QJIT(3, diastase.CompileOptions())
    with pytest.raises(ValueError, match="compile_options takes a diastase"):
        diastase.QJIT(len, {"seed": 3})


def test_verbose_reports_to_the_logfile(capsys):
    log = io.StringIO()
    qjit(lambda x: x * 3, verbose=True, logfile=log)(1.0)
    assert "ms" in log.getvalue()
    assert ".so" in log.getvalue() or ".dylib" in log.getvalue()
    qjit(lambda x: x * 3, verbose=True)(1.0)
    assert "ms" in capsys.readouterr().err


def test_keep_intermediate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    @qjit(keep_intermediate=True)
    def function(x):
        return x + 1

    function(1.0)
    assert function.workspace == tmp_path / "function"
    assert list(function.workspace.rglob("*.mlir"))


def test_the_workspace_is_where_ir_has_gone_to(tmp_path, monkeypatch):
    """Into one temporary folder where a file of that name is in the way."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "function").touch()

    @qjit(keep_intermediate=True)
    def function(x):
        return x + 1

    function(1.0)
    first = function.workspace
    function(1)
    assert function.workspace == first
    assert [*tmp_path.glob("diastase-function-*")] == [first]
    assert list(first.rglob("*.mlir"))
    (tmp_path / "function").unlink()
    function(1j)
    assert function.workspace == tmp_path / "function"


@pytest.mark.parametrize("name", ["../../x", "/x", "..", "a/../../x", "<lambda>"])
def test_no_name_of_a_function_leads_out_of_the_workspace(tmp_path, monkeypatch, name):
    (tmp_path / "kept").mkdir()
    monkeypatch.chdir(tmp_path / "kept")

    def function(x):
        return x + 1

    function.__name__ = name
    program = qjit(function, keep_intermediate=True)
    program(1.0)
    assert program.workspace.parent == tmp_path / "kept"
    assert list(program.workspace.rglob("*.mlir"))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


UNSUPPORTED = {
    "string": (("a",), {}, "argument x of function is a str"),
    "object": ((object(),), {}, "argument x of function is a object"),
    "inside a tree": (({"w": [1, "a"]},), {}, r"argument x\['w'\]\[1\] of function is a str"),
    "keyword": ((1,), {"y": {"k": "a"}}, r"argument y\['k'\] of function is a str"),
    "variadic": ((1, 2, 3, "a"), {}, r"argument rest\[1\] of function is a str"),
    "arbitrary keyword": ((1,), {"z": "a"}, "argument z of function is a str"),
    "objects of numpy": ((np.array([None]),), {}, "argument x of function is a ndarray of dtype"),
    "big-endian": ((np.ones(1, ">f8"),), {}, "of dtype >f8"),
    "a type": ((jax.ShapeDtypeStruct((), float),), {}, "of function is a ShapeDtypeStruct, which"),
    "a function": ((lambda x: x,), {}, "argument x of function is a function"),
}


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_unsupported_arguments(case):
    @qjit
    def function(x, y=0, *rest, **others):
        return 1

    args, kwargs, message = UNSUPPORTED[case]
    for _ in range(2):
        with pytest.raises(TypeError, match=message) as caught:
            function(*args, **kwargs)
        assert isinstance(caught.value, diastase.DiastaseError)


RESULTS = {
    "string": (lambda x: "a", "returned a str at result,"),
    "inside a tree": (lambda x: {"k": [x, object()]}, r"returned a object at result\['k'\]\[1\],"),
    "function": (lambda x: (x, len), r"returned a builtin_function_or_method at result\[1\],"),
}


@pytest.mark.parametrize("case", RESULTS)
def test_unsupported_results(case):
    function, message = RESULTS[case]
    with pytest.raises(TypeError, match=message) as caught:
        qjit(function)(1.0)
    assert caught.value.span.file == __file__


def test_the_line_of_an_unsupported_result():
    def function(x):
        y = x + 1
        return "text", y

    with pytest.raises(TypeError) as caught:
        qjit(function)(1.0)
    assert caught.value.span.line == function.__code__.co_firstlineno + 2
    assert 'return "text", y' in str(caught.value)


TRANSFORMS = [
    jax.jit,
    jax.grad,
    lambda f: jax.vmap(f, in_axes=0),
    lambda f: jax.make_jaxpr(f),
    lambda f: functools.partial(jax.eval_shape, f),
]


@pytest.mark.parametrize("number", range(len(TRANSFORMS)))
def test_inside_transformations_of_jax(number):
    compiled = qjit(lambda x: x * 2.0)
    compiled(1.0)
    argument = jnp.ones(3) if number == 2 else 1.0
    assert (
        TRANSFORMS[number](compiled)(argument) is not None
    )  # tests/frontend/jit/interop has their results
    with pytest.raises(TypeError, match="inside a transformation of JAX: argument x") as caught:
        TRANSFORMS[number](compiled.trace)(argument)
    assert isinstance(caught.value, diastase.DiastaseError)


def test_seeds():
    def outcomes(**options):
        @qjit(**options)
        @qml.qnode(qml.device("lightning.qubit", wires=8))
        def circuit():
            for wire in range(8):
                qml.Hadamard(wire)
            for wire in range(8):
                diastase.measure(wire)
            return qml.probs()

        return [int(np.argmax(circuit())) for _ in range(6)]

    assert len(set(outcomes(seed=3))) == 1
    assert outcomes(seed=3) == outcomes(seed=3)
    assert len(set(outcomes())) > 1


def test_memory_of_calls_and_of_functions_is_given_back():
    """No object of ours is left when a function dies."""
    compiled = qjit(lambda x: x + 1)
    compiled(1.0)
    compiled(np.ones(3))
    programs = compiled._programs.made.compiled()
    executables = [weakref.ref(each.direct_call.executable) for each in programs]
    assert len(executables) == 2
    del compiled, programs
    gc.collect()
    assert all(executable() is None for executable in executables)
