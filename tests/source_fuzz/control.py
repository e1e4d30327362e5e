"""Statements with functions in them: loops, branches, transformations, in any nesting.

The body of a function is written in a scope of its own, which sees the variables around it; what it returns is
coerced to the type that the construct asks for. The whole statement stays only if JAX takes it.
"""

import textwrap
from collections.abc import Callable

import jax
import jax.numpy as jnp

from source_fuzz import arrays
from source_fuzz.writer import Scope, Types, Writer, dtype_text

_DEEPEST = 3
_INTEGER = jax.ShapeDtypeStruct((), jnp.int64)


def block(writer: Writer, scope: Scope, count: int) -> None:
    """Add statements, some of them with functions in them."""
    for _ in range(count):
        if scope.depth < _DEEPEST and writer.rng.random() < (0.6, 0.35, 0.2)[scope.depth]:
            writer.rng.choices(*_CONSTRUCTS)[0](writer, scope)
        else:
            arrays.statements(writer, scope, 1)


def _indent(lines: list[str]) -> str:
    return textwrap.indent("\n".join(lines), "    ")


def _body(writer: Writer, scope: Scope, parameters: Types) -> Scope:
    """The scope of a function of these parameters, with statements in it."""
    seen = {name: scope.types[name] for name in list(scope.types)[-5:]} if scope.types else {}
    inner = Scope(seen | parameters, [], scope.depth + 1)
    block(writer, inner, writer.rng.randrange(1, 4))
    return inner


def _function(writer: Writer, scope: Scope, parameters: Types, results: list[jax.ShapeDtypeStruct], name: str) -> str:
    """`def name(parameters): …` that returns results of these types, always a tuple."""
    inner = _body(writer, scope, parameters)
    given = ", ".join(writer.coerced(inner, one) for one in results)
    return f"def {name}({', '.join(parameters)}):\n{_indent([*inner.lines, f'return ({given},)'])}"


def _carried(writer: Writer, scope: Scope, kind: str = "x") -> list[str]:
    """One to three variables of the scope."""
    if not any(kind == "x" or jnp.issubdtype(one.dtype, jnp.floating) for one in scope.types.values()):
        raise KeyError(kind)
    return [writer.variable(scope.types, kind) for _ in range(writer.rng.choice((1, 1, 2, 3)))]


def _strong(scope: Scope, name: str) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(scope.types[name].shape, scope.types[name].dtype)


def _parameters(writer: Writer, scope: Scope, names: list[str]) -> Types:
    return {writer.fresh("p"): scope.types[name] for name in names}


def _names(writer: Writer, count: int) -> list[str]:
    return [writer.fresh("v") for _ in range(count)]


def _tuple(names: list[str]) -> str:
    return f"({', '.join(names)},)"


def _fori(writer: Writer, scope: Scope) -> None:
    carried = _carried(writer, scope)
    parameters = _parameters(writer, scope, carried)
    index, name, found = writer.fresh("i"), writer.fresh("body"), _names(writer, len(carried))
    text = _function(writer, scope, {index: _INTEGER} | parameters, [_strong(scope, one) for one in carried], name)
    lower, upper = writer.rng.choice(((0, 3), (0, 1), (2, 2), (-1, 2), (1, 4)))
    top = writer.rng.choice((str(upper), str(upper), f"jnp.clip({writer.variable(scope.types, 'x')}.size, 0, {upper})"))
    if writer.rng.random() < 0.5:
        call = f"{_tuple(found)} = lax.fori_loop({lower}, {top}, lambda i, carry: {name}(i, *carry), {_tuple(carried)})"
        writer.add(scope, f"{text}\n{call}", found)
        return
    step = writer.rng.choice((1, 1, 2))
    values = "carry[0]" if len(carried) == 1 else "carry"
    call = f"@for_loop({lower}, {upper}, {step})\ndef loop(i, *carry):\n    carry = {name}(i, *carry)\n    return {values}"
    final = f"{', '.join(found)} = loop({', '.join(carried)})"
    writer.add(scope, f"{text}\n{call}\n{final}", found)


def _while(writer: Writer, scope: Scope) -> None:
    carried = _carried(writer, scope)
    parameters = _parameters(writer, scope, carried)
    count, name, found = writer.fresh("n"), writer.fresh("body"), _names(writer, len(carried) + 1)
    text = _function(writer, scope, {count: _INTEGER} | parameters, [_strong(scope, one) for one in carried], name)
    other = writer.rng.choice(("True", f"(jnp.sum(jnp.real(carry[1])) < {writer.literal('p')})", "carry[1].any()"))
    start = f"(jnp.zeros((), int), {', '.join(carried)})"
    turns = writer.rng.choice((0, 1, 3, 4))
    if writer.rng.random() < 0.6:
        call = (
            f"{_tuple(found)} = lax.while_loop(lambda carry: (carry[0] < {turns}) & {other}, lambda carry: (carry[0] + 1, *{name}(*carry)), {start})"
        )
    else:
        call = (
            f"@while_loop(lambda *carry: (carry[0] < {turns}) & {other})\ndef loop(count, *carry):\n"
            f"    return count + 1, *{name}(count, *carry)\n{_tuple(found)} = loop(*{start})"
        )
    writer.add(scope, f"{text}\n{call}", found)


def _scan(writer: Writer, scope: Scope) -> None:
    carried = _carried(writer, scope)
    long = [name for name, one in scope.types.items() if one.ndim and one.shape[0] < 6]
    xs = [writer.rng.choice(long)] if long else []
    if not xs and writer.rng.random() < 0.5:
        return
    slices = {writer.fresh("s"): jax.ShapeDtypeStruct(scope.types[name].shape[1:], scope.types[name].dtype) for name in xs}
    parameters = _parameters(writer, scope, carried)
    inner = _body(writer, scope, parameters | slices)
    given = ", ".join(writer.coerced(inner, _strong(scope, one)) for one in carried)
    ys = [writer.variable(inner.types, "x") for _ in range(writer.rng.choice((0, 1, 1, 2)))]
    name, found, stacked = (writer.fresh("body"), _names(writer, len(carried)), _names(writer, len(ys)))
    first = [f"{_tuple(list(parameters))} = carry"] + ([f"{_tuple(list(slices))} = xs"] if xs else [])
    text = f"def {name}(carry, xs):\n{_indent([*first, *inner.lines, f'return ({given},), ({chr(44).join(ys)}{chr(44) if ys else str()})'])}"
    options = writer.rng.choice(("", "", ", reverse=True", ", unroll=2"))
    source = _tuple(xs) if xs else f"None, length={writer.literal('p')}"
    outs = _tuple(stacked) if stacked else "_"
    call = f"{_tuple(found)}, {outs} = lax.scan({name}, {_tuple(carried)}, {source}{options})"
    writer.add(scope, f"{text}\n{call}", found + stacked)


def _predicate(writer: Writer, scope: Scope) -> str:
    name = writer.variable(scope.types, "x")
    return writer.rng.choice((f"jnp.any({name})", f"jnp.sum({name}).real > {writer.literal('r')}", f"{name}.size > 3", f"jnp.all({name} == {name})"))


def _cond(writer: Writer, scope: Scope) -> None:
    carried = _carried(writer, scope)
    results = [_strong(scope, writer.variable(scope.types, "x")) for _ in range(writer.rng.choice((1, 1, 2)))]
    names = [writer.fresh("branch") for _ in range(writer.rng.choice((2, 2, 3)))]
    functions = [_function(writer, scope, _parameters(writer, scope, carried), results, name) for name in names]
    found = _names(writer, len(results))
    operands, style = ", ".join(carried), writer.rng.choice(("cond", "switch", "decorated"))
    if style == "cond":
        call = f"{_tuple(found)} = lax.cond({_predicate(writer, scope)}, {names[0]}, {names[1]}, {operands})"
        functions = functions[:2]
    elif style == "switch":
        which = writer.variable(scope.types, "n")
        call = f"{_tuple(found)} = lax.switch(jnp.sum({which}).real.astype(int), [{', '.join(names)}], {operands})"
    else:
        lines = [f"@cond({_predicate(writer, scope)})", "def chosen():", f"    return {names[0]}({operands})"]
        if len(names) == 3:
            lines += [f"@chosen.else_if({_predicate(writer, scope)})", "def chosen_2():", f"    return {names[2]}({operands})"]
        lines += ["@chosen.otherwise", "def chosen_3():", f"    return {names[1]}({operands})"]
        call = "\n".join([*lines, f"{_tuple(found)} = chosen()"])
    writer.add(scope, "\n".join([*functions, call]), found)


def _mapped(writer: Writer, scope: Scope) -> None:
    """`vmap` or `lax.map` over the first axis, or the last, of one or two variables."""
    rng = writer.rng
    batched = [name for name, one in scope.types.items() if one.ndim]
    if not batched:
        return
    first = rng.choice(batched)
    size = scope.types[first].shape[0]
    axes = {first: 0}
    other = rng.choice(list(scope.types))
    shape = scope.types[other].shape
    if other != first:
        axes[other] = 0 if shape[:1] == (size,) else -1 if shape[-1:] == (size,) else None
    parameters: Types = {}
    for name, axis in axes.items():
        whole = scope.types[name]
        shape = list(whole.shape)
        if axis is not None:
            del shape[axis]
        parameters[writer.fresh("p")] = jax.ShapeDtypeStruct(tuple(shape), whole.dtype)
    inner = _body(writer, scope, parameters)
    results = [writer.variable(inner.types, "x") for _ in range(rng.choice((1, 2)))]
    name, found = writer.fresh("each"), _names(writer, len(results))
    text = f"def {name}({', '.join(parameters)}):\n{_indent([*inner.lines, f'return {_tuple(results)}'])}"
    if set(axes.values()) == {0} and rng.random() < 0.25:
        call = f"{_tuple(found)} = lax.map(lambda xs: {name}(*xs), {_tuple(list(axes))}{rng.choice(('', ', batch_size=2'))})"
    else:
        function = rng.choice(("jax.vmap", "vmap"))
        out = rng.choice(("", "", ", out_axes=-1"))
        call = f"{_tuple(found)} = {function}({name}, in_axes={tuple(axes.values())}{out})({', '.join(axes)})"
    writer.add(scope, f"{text}\n{call}", found)


def _called(writer: Writer, scope: Scope) -> None:
    """`jit`, `checkpoint`, a custom rule: the function itself, called."""
    carried = _carried(writer, scope)
    name, found = writer.fresh("call"), _names(writer, len(carried))
    text = _function(writer, scope, _parameters(writer, scope, carried), [_strong(scope, one) for one in carried], name)
    donated = "functools.partial(jax.jit, donate_argnums=0)"
    how = writer.rng.choice(("jax.jit", donated, "jax.checkpoint", "jax.custom_jvp", "jax.custom_vjp", "jax.named_call", "functools.lru_cache"))
    call = f"{_tuple(found)} = {name}({', '.join(carried)})"
    rule = ""
    if how == "functools.lru_cache":
        how, call = "jax.jit", f"{call}\n{_tuple(found)} = {name}(*{_tuple(found)})"
    if how == "jax.custom_jvp":
        rule = f"{name}.defjvp(lambda primals, tangents: ({name}(*primals), tuple(3 * t for t in tangents)))"
    if how == "jax.custom_vjp":
        rule = f"{name}.defvjp(lambda *primals: ({name}(*primals), None), lambda _, ct: tuple(2 * t for t in ct))"
    writer.add(scope, "\n".join(filter(None, [f"@{how}\n{text}", rule, call])), found)


def _derivative(writer: Writer, scope: Scope) -> None:
    rng = writer.rng
    carried = [writer.variable(scope.types, "f")]
    name = writer.fresh("cost")
    one = _strong(scope, carried[0])
    text = _function(writer, scope, _parameters(writer, scope, carried), [one], name)
    cost = f"lambda t: jnp.sum({name}(t)[0])"
    (given,), (found,) = carried, _names(writer, 1)
    small = one.size < 5
    way = rng.choice(
        [f"jax.grad({cost})({given})", f"jax.value_and_grad({cost})({given})[1]", f"jax.jvp({cost}, ({given},), (jnp.ones_like({given}),))[1]",
         f"grad({cost})({given})", f"jax.vjp({name}, {given})[1]((jnp.ones({one.shape}, {dtype_text(one.dtype)}),))[0]",
         f"jax.linearize({cost}, {given})[1](jnp.ones_like({given}))"]
        + [f"jax.hessian({cost})({given})", f"jax.jacrev({name})({given})[0]", f"jax.jacfwd({name})({given})[0]"] * small
    )  # fmt: skip
    writer.add(scope, f"{text}\n{found} = {way}", [found])


def _or_nothing(construct: Callable[[Writer, Scope], None]) -> Callable[[Writer, Scope], None]:
    def write(writer: Writer, scope: Scope) -> None:
        try:
            construct(writer, scope)
        except (KeyError, IndexError):
            return

    return write


_CONSTRUCTS = ([_or_nothing(one) for one in (_fori, _while, _scan, _cond, _mapped, _called, _derivative)], [4, 2, 4, 4, 4, 3, 3])
