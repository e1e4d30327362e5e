"""The kinds of programs, each a module in text; a seed and a number give the same text again.

def program(...): ...        # and functions that it needs
def build(jit): ...          # what is compiled, with which options
def calls(): ...             # [(arguments, keyword arguments), …], made anew each time
REFERENCE = "jit"            # see `oracle`
"""

import random
import textwrap
from collections.abc import Callable

import jax
import jax.numpy as jnp

from source_fuzz import control
from source_fuzz.circuits import circuit_program
from source_fuzz.converted import converted_program
from source_fuzz.writer import DTYPES, HEADER, Scope, Writer


def module(parts: list[str], reference: str, x64: bool = True, **settings: object) -> str:
    lines = [f"{name} = {value!r}" for name, value in ({"REFERENCE": reference, "X64": x64} | settings).items()]
    return "\n\n".join([HEADER, *parts, "\n".join(lines)]) + "\n"


def _parameters(writer: Writer, scope: Scope, count: int) -> dict[str, tuple[tuple[int, ...], str]]:
    """New variables of random types, and what they are."""
    made = {}
    for _ in range(count):
        name, shape, dtype = (writer.fresh("x"), writer.rng.choice(writer.shapes), writer.rng.choice(writer.dtypes))
        made[name] = (shape, dtype)
        scope.types[name] = jax.ShapeDtypeStruct(shape, jnp.dtype(dtype))
    if writer.rng.random() < 0.5:
        name = writer.fresh("k")
        made[name] = ((), "int64")
        scope.types[name] = jax.ShapeDtypeStruct((), jnp.int64, weak_type=True)
    return made


def _argument(writer: Writer, name: str, shape: tuple[int, ...], dtype: str) -> str:
    if name.startswith("k"):
        return str(writer.rng.randrange(-1, 4))
    text = writer.argument(shape, dtype)
    return f"jnp.asarray({text})" if writer.rng.random() < 0.3 else text


def _calls(arguments: list[list[str]], keywords: list[dict[str, str]] | None = None) -> str:
    rows = [
        f"((\n{textwrap.indent(''.join(f'{one},{chr(10)}' for one in positional), ' ' * 12)}        ),"
        f" {{{', '.join(f'{key!r}: {value}' for key, value in named.items())}}}),"
        for positional, named in zip(arguments, keywords or [{}] * len(arguments), strict=True)
    ]
    return "def calls():\n    return [\n" + "".join(f"        {row}\n" for row in rows) + "    ]"


def _define(name: str, parameters: str, lines: list[str], result: str) -> str:
    body = textwrap.indent("\n".join([*lines, f"return {result}"]), "    ")
    return f"def {name}({parameters}):\n{body}"


def _results(writer: Writer, scope: Scope, count: int) -> list[str]:
    """Names of the newest variables, and now and then one of the arguments."""
    names = list(scope.types)
    chosen = names[-1:] + [writer.variable(scope.types, "x") for _ in range(count)]
    return list(dict.fromkeys(chosen))


def _structure(writer: Writer, names: list[str]) -> str:
    """The names in a random pytree."""
    rng = writer.rng
    if len(names) == 1:
        return rng.choice(names * 4 + [f"({names[0]},)", f"[{names[0]}]", f"{{'a': {names[0]}}}"])
    middle = rng.randrange(1, len(names))
    parts = [_structure(writer, names[:middle]), _structure(writer, names[middle:])]
    if rng.random() < 0.1:
        parts.append(rng.choice(("None", "()", "{}", "2", "1.5", "True")))
    return rng.choice(("({})", "({})", "[{}]")).format(", ".join(parts)) if rng.random() < 0.7 else (
        "{" + ", ".join(f"{key!r}: {part}" for key, part in zip("zab", parts, strict=False)) + "}"
    )  # fmt: skip


def array_program(writer: Writer) -> str:
    """Statements on arrays, loops and branches among them; called twice."""
    scope = Scope({})
    made = _parameters(writer, scope, writer.rng.choice((1, 2, 2, 3)))
    scope.depth = writer.rng.choice((0, 0, 1, 3))
    control.block(writer, scope, writer.rng.choice((1, 2, 3, 5)))
    if writer.rng.random() < 0.03:  # something that JAX may refuse
        scope.lines.append(f"v0 = {writer.fill(writer.rng.choice(_REFUSED), scope.types)}")
    result = _structure(writer, _results(writer, scope, writer.rng.choice((0, 1, 2))))
    program = _define("program", ", ".join(made), scope.lines, result)
    arguments = [[_argument(writer, name, *one) for name, one in made.items()] for _ in range(2)]
    build = "def build(jit):\n    return jit(program)"
    return module([program, build, _calls(arguments)], "jit", x64=writer.rng.random() < 0.85)


_REFUSED = (
    "{x}.reshape(({p}, 11))", "{x} @ {x}", "jnp.concatenate([{x}, {x}], axis=1)", "{x}[{r}]", "{x} & {x}", "jnp.linalg.inv({x})",
    "bool({x})", "jnp.zeros({x})", "{x}.at[{x}].set({x})", "jnp.stack([{x}, {x}])", "lax.add({x}, {x})", "jnp.squeeze({x}, 0)",
    "lax.fori_loop(0, 3, lambda i, c: c + 1j, {x})", "lax.cond({x}, lambda: 1, lambda: 2)", "lax.scan(lambda c, y: (c, y), 0, {x})[1]",
    "jax.grad(jnp.sum)({x})", "jax.vmap(jnp.sin)({x})", "lax.dynamic_slice({x}, ({k},), (9,))", "jnp.max({x})", "jnp.argmax({x})",
)  # fmt: skip


def transformed_program(writer: Writer) -> str:
    """A function of floating-point numbers under grad, vmap, jit, inside or around the compiler."""
    rng = writer.rng
    scope = Scope({})
    dtype = rng.choice(("float64", "float64", "float32", "complex128", "float16"))
    writer.dtypes = [dtype, dtype, rng.choice(DTYPES)]
    made = _parameters(writer, scope, rng.choice((1, 2)))
    control.block(writer, scope, rng.choice((2, 3, 4)))
    names = _results(writer, scope, 1)
    program = _define("program", ", ".join(made), scope.lines, f"({', '.join(names)},)")
    arguments = {name: _argument(writer, name, *one) for name, one in made.items()}
    inexact = [k for k, (_, one) in enumerate(made.values()) if one.startswith(("f", "b", "c")) and one != "bool"]
    ways = ["jax.jit(jit(program))", "jit(jax.jit(program))"]
    batched = [name for name, (shape, _) in made.items() if not name.startswith("k")]
    if batched:
        axes = tuple(0 if name in batched and rng.random() < 0.8 else None for name in made)
        if any(axis == 0 for axis in axes):
            for (name, (shape, one)), axis in zip(made.items(), axes, strict=True):
                if axis == 0:
                    arguments[name] = f"jnp.stack([{writer.argument(shape, one)}, {writer.argument(shape, one)}, {writer.argument(shape, one)}])"
            ways = [f"jax.vmap(jit(program), {axes})", f"jit(jax.vmap(program, {axes}))", f"jax.jit(jax.vmap(jit(program), {axes}))"]
    if inexact and rng.random() < 0.6:
        arguments = {name: _argument(writer, name, *one) for name, one in made.items()}
        holomorphic = rng.choice(
            ("jit(jax.grad(cost, {}))", "jax.grad(jit(cost), {})", "jit(jax.value_and_grad(cost, {}))", "jax.jit(jax.grad(jit(cost), {}))")
        )
        number = rng.choice(inexact)
        ways = [holomorphic.format(number)]
        if dtype.startswith("float") and len(made) == 1 and jnp.prod(jnp.array(made[next(iter(made))][0])) < 4:
            ways += ["jit(jax.hessian(cost))", "jit(jax.jacfwd(jax.grad(cost)))", "jax.jacrev(jit(jax.grad(cost)))"]
    build = f"def build(jit):\n    return {rng.choice(ways)}"
    return module([program, _COST, build, _calls([list(arguments.values())])], "jit")


_COST = """\
def cost(*values):
    leaves = [jnp.asarray(one) for one in jax.tree.leaves(program(*values))]
    parts = [jnp.sum(jnp.real(one)) for one in leaves if jnp.issubdtype(one.dtype, jnp.inexact)]
    return sum(parts, 0.0)"""


def called_program(writer: Writer) -> str:
    """How arguments are passed: pytrees, keywords, defaults, static, donated, closures, several types."""
    rng = writer.rng
    scope = Scope({})
    made = _parameters(writer, scope, 3)
    names = list(made)
    structure = rng.choice(("[{0}, {1}]", "{{'w': {0}, 'b': ({1},)}}", "({0}, None, {{'a': {1}}})", "Pair({0}, {1})", "({0}, [{1}], ())"))
    unpack = {
        "[": f"{names[0]}, {names[1]} = tree",
        "{": f"{names[0]}, ({names[1]},) = tree['w'], tree['b']",
        "P": f"{names[0]}, {names[1]} = tree.left, tree.right",
    }
    first = unpack.get(structure[0], f"{names[0]}, {names[1]} = jax.tree.leaves(tree)")
    control.block(writer, scope, rng.choice((1, 2)))
    newest = list(scope.types)[-1]
    last = {
        "times": f"scaled = sum([{newest}] * times)", "mode": f"scaled = {newest} if mode == 'plain' else -1 * {newest}",
        "scale": f"scaled = {newest} * scale", "shape": f"scaled = jnp.zeros(shape) + jnp.sum({newest})",
    }  # fmt: skip
    option = rng.choice(list(last))
    values = {
        "times": ("2", "1", "2"),
        "mode": ("'plain'", "'other'", "'plain'"),
        "scale": ("2.5", "2", "jnp.float32(3)"),
        "shape": ("(2,)", "()", "(1, 2)"),
    }[option]
    fixed = option != "scale"
    others = names[2:]
    lines = [first, *scope.lines, last[option]]
    results = _structure(writer, ["scaled", *_results(writer, scope, 1)])
    program = _define("program", f"tree, {', '.join(others)}, {option}={values[0]}", lines, results)
    options = []
    if fixed:
        number = 1 + len(others)
        options.append(
            rng.choice(
                (
                    f"static_argnames=({option!r},)",
                    f"static_argnames={option!r}",
                    f"static_argnums={number}",
                    f"static_argnums=({number - len(others) - 2},)",
                )
            )
        )
    by_name = (fixed and "argnames" in options[0] and rng.random() < 0.7) or (not fixed and rng.random() < 0.5)
    rows, keywords = [], []
    for value in values:
        leaves = [_argument(writer, name, *made[name]) for name in names]
        row = [structure.format(*leaves[:2]), *leaves[2:]]
        rows.append(row if by_name else [*row, value])
        keywords.append({option: value} if by_name else {})
    if by_name and rng.random() < 0.5:
        keywords[1] = {}
    build = f"def build(jit):\n    return jit(program{''.join(f', {one}' for one in options)})"
    return module(["Pair = collections.namedtuple('Pair', 'left right')", program, build, _calls(rows, keywords)], "jit")


def sized_program(writer: Writer) -> str:
    """One compiled function for several sizes of its arguments."""
    rng = writer.rng
    n, m = 5, rng.choice((1, 2, 3))
    writer.shapes = [(n,), (n,), (n, m), (m, n), (), (n, n), (1, n)]
    scope = Scope({})
    made = _parameters(writer, scope, rng.choice((1, 2)))
    control.block(writer, scope, rng.choice((1, 2, 3)))
    newest = _results(writer, scope, 1)
    sized = [name for name, (shape, _) in made.items() if n in shape]
    if sized and rng.random() < 0.4:
        scope.lines.append(f"v0 = {newest[0]} * {sized[0]}.shape[{made[sized[0]][0].index(n)}]")
        newest.append("v0")
    program = _define("program", ", ".join(made), scope.lines, f"({', '.join(newest)},)")
    axes = tuple({k: "n" for k, size in enumerate(shape) if size == n} for shape, _ in made.values())
    rows = [
        [_argument(writer, name, tuple(size if one == n else one for one in shape), dtype) for name, (shape, dtype) in made.items()]
        for size in rng.sample((0, 1, 2, 4, 5, 6, 9), 3)
    ]
    option = rng.choice((f"abstracted_axes={axes}", "dynamic_dims='auto'")) if sized else ""
    build = f"def build(jit):\n    return jit(program, {option})"
    return module([program, build, _calls(rows)], "jit", LENIENT=True)


KINDS: dict[str, tuple[Callable[[Writer], str], int]] = {
    "array": (array_program, 36),
    "transformed": (transformed_program, 16),
    "called": (called_program, 8),
    "sized": (sized_program, 10),
    "converted": (converted_program, 10),
    "circuit": (circuit_program, 20),
}


def write_program(seed: int, number: int, only: list[str] | None = None) -> tuple[str, str]:
    """The kind and the text of one program."""
    rng = random.Random(f"{seed} {number}")
    kinds = only or list(KINDS)
    (kind,) = rng.choices(kinds, [KINDS[one][1] for one in kinds])
    return kind, KINDS[kind][0](Writer(rng))
