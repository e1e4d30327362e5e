"""Random nests of `if`, `for`, `while`, `break`, `continue`, `return` and items, beside Python.

Each program has several functions, so that they are compiled together. The functions are made of
text, which is put where Python looks for the source of files.
"""

import linecache
import random

import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit

HELPER = """
def helper(x, y):
    if x > y:
        return x - y
    return x + 0.5
"""
ARGUMENTS = [(0.7, -1.25, 3), (4.0, 2.5, 0), (-3.0, 1.0, 2)]


class Generator:
    """Writes one function of two floats, an integer and an array of three floats."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0

    def function(self, name):
        body = [*self.block(0, False), *self.block(0, False)]
        result = "return a + b * 2.0 + c * 4.0 + xs[0] + 8 * xs[2]"
        return [f"def {name}(a, b, n, xs):", "    c = 0.0", *indented(body), f"    {result}"]

    def block(self, depth, in_loop):
        statements = [self.statement(depth, in_loop) for _ in range(self.random.randint(1, 2))]
        return [line for lines in statements for line in lines]

    def statement(self, depth, in_loop):
        kinds = ["assign", "assign", "if", "if", "for", "while", "return", "jump", "item"]
        kind = self.random.choice(kinds) if depth < 3 else "assign"
        variable, index = self.random.choice("abc"), self.random.randint(-3, 2)
        match kind:
            case "if":
                lines = [f"if {self.condition()}:", *indented(self.block(depth + 1, in_loop))]
                if self.random.random() < 0.4:
                    lines += [f"elif {self.condition()}:", f"    {variable} = {self.value()}"]
                if self.random.random() < 0.6:
                    lines += ["else:", *indented(self.block(depth + 1, in_loop))]
                return lines
            case "for":
                name = self.name()
                items = ["range(2)", "range(n)", "range(n, -1, -2)", "[0.5, -1.0]", "xs + 0.0"]
                pairs = ["enumerate(xs + 0.0)", "zip(xs + 0.0, [1.0, 2.0])"]
                chosen = self.random.choice(items + pairs)
                targets = f"{name}, {self.name()}" if chosen in pairs else name
                body = [f"{variable} += {name} * 0.25", *self.block(depth + 1, True)]
                ending = ["else:", "    b = b - 0.125"] if self.random.random() < 0.3 else []
                return [f"for {targets} in {chosen}:", *indented(body), *ending]
            case "while":
                name = self.name()
                body = [f"{name} += 1", *self.block(depth + 1, True)]
                return [f"{name} = 0", f"while {self.condition()} and {name} < 3:", *indented(body)]
            case "return":
                return [f"if {self.condition()}:", f"    return {self.value()} * 1.0"]
            case "jump" if in_loop:
                return [
                    f"if {self.condition()}:",
                    f"    {self.random.choice(['break', 'continue'])}",
                ]
            case "item":
                return [f"xs[{index}] {self.random.choice(['=', '+=', '*='])} {self.value()}"]
            case _:
                return [f"{variable}, {self.name()} = {self.value()}, {self.value()}"]

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def value(self, depth=0):
        if depth > 1:
            return self.random.choice("abc")
        first, other = self.value(depth + 1), self.value(depth + 1)
        forms = [
            self.random.choice("abc"), str(self.random.randint(-3, 3) / 2), f"xs[{depth - 1}]",
            f"({first} if {self.condition()} else {other})", f"helper({first}, {other})",
            f"({first} - {other} * 0.5)",
        ]  # fmt: skip
        return self.random.choice(forms)

    def condition(self):
        atoms = [
            f"{self.random.choice('abc')} {self.random.choice(['<', '>=', '!='])} {other}"
            for other in self.random.sample(["b", "c", "1.5", "n"], 2)
        ]
        forms = ["{0}", "{0} and {1}", "not ({0} or {1})", "-2 < a <= c"]
        return self.random.choice(forms).format(*atoms)


def indented(lines):
    return ["    " + line for line in lines]


def functions_of(seed, count):
    lines = HELPER.splitlines()
    for number in range(count):
        lines += Generator(f"{seed}/{number}").function(f"f{number}")
    text, file = "\n".join(lines) + "\n", f"<random programs {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = {}
    exec(compile(text, file, "exec"), namespace)
    return [namespace[f"f{number}"] for number in range(count)]


@pytest.mark.parametrize("seed", range(2))
def test_as_in_python(seed):
    functions = functions_of(seed, 3)
    compiled = qjit(lambda *args: [function(*args) for function in functions], autograph=True)
    for a, b, n in ARGUMENTS:
        xs = np.array([1.5, -2.0, a])
        expected = [function(a, b, n, xs.copy()) for function in functions]
        np.testing.assert_allclose(compiled(a, b, n, jnp.array(xs)), expected, rtol=1e-9)
