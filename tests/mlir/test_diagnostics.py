"""Whose line it is: from stacks, jaxprs and MLIR locations."""

import inspect

import jax
import jax.numpy as jnp
import pytest

from diastase_mlir import at, diagnostics, span_of, user_span
from diastase_mlir.diagnostics import is_user_file, span_at
from diastase_runtime.errors import InternalError, Span


def test_the_users_line_on_the_stack():
    span = user_span()
    line = inspect.currentframe().f_lineno - 1
    assert (span.file, span.line) == (__file__, line)
    assert span.function == "test_the_users_line_on_the_stack"
    assert span.text == "span = user_span()"


def test_frames_of_libraries_are_skipped():
    found = []

    def recording(x):
        found.append(user_span())
        return x

    jax.vmap(recording)(jnp.ones(3))
    jax.tree.map(lambda x: found.append(user_span()), [1])
    assert {span.file for span in found} == {__file__}


def test_lines_of_a_jaxpr():
    def program(x):
        y = jnp.sin(x)
        return jnp.cumsum(y) * 2

    first = inspect.getsourcelines(program)[1]
    spans = [
        span_of(equation.source_info) for equation in jax.make_jaxpr(program)(jnp.ones(3)).eqns
    ]
    assert [(span.file, span.line) for span in spans][:2] == [
        (__file__, first + 1),
        (__file__, first + 2),
    ]
    assert span_of(None) is None


def test_lines_of_mlir_locations():
    text = (
        'loc("jit(f)/sin"(callsite("inner"("/usr/lib/python3.11/site-packages/jax/a.py":4:1) '
        'at callsite("circuit"("/home/user/model.py":7:11 to :20) at "f"("/home/user/b.py":9:1)))))'
    )
    span = span_at(text.replace("/usr/lib/python3.11/site-packages/jax", jax.__path__[0]))
    assert span == Span("/home/user/model.py", 7, "circuit")
    assert span_at('loc("-":3:1)') is None
    assert span_at("loc(unknown)") is None


def test_notebook_cells_are_the_users():
    assert is_user_file("/tmp/ipykernel_42/123.py")
    assert is_user_file("<stdin>")
    assert not is_user_file("<frozen importlib._bootstrap>")
    assert not is_user_file(jax.__file__)


def test_an_error_is_placed_once():
    inner, outer = Span("a.py", 1), Span("b.py", 2)
    with pytest.raises(InternalError) as caught, at(outer), at(inner):
        raise InternalError(what="x")
    assert caught.value.span == inner


@pytest.mark.parametrize("function", [jax.lax.scan, inspect.getdoc, user_span])
def test_lines_of_instructions_are_those_of_python(function):
    code = inspect.unwrap(function).__code__
    for place, (line, *_) in enumerate(code.co_positions()):
        assert diagnostics._line_of(code, 2 * place) == (line or code.co_firstlineno)
