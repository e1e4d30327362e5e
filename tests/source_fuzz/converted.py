"""Python's own control flow on traced numbers, for `qjit(autograph=True)`; the reference is Python.

Variables keep their types: `s…` are real numbers, `n…` integers, `a` an array of real numbers.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from source_fuzz.writer import Writer


def converted_program(writer: Writer) -> str:
    from source_fuzz.programs import module

    text = _Statements(writer)
    helper = text.function("helper", "s1, n1", 2)
    program = text.function("program", "s1, s2, n1, n2, a", 4)
    rng = writer.rng
    rows = [
        f"((np.float64({rng.choice((-1.5, -0.5, 0.25, 1.0, 3.0))}), np.float64({rng.choice((-2.0, 0.0, 0.5, 1.5))}),"
        f" {rng.randrange(-1, 4)}, {rng.randrange(0, 5)}, np.array({[rng.choice((-1.0, 0.0, 0.5, 2.0)) for _ in range(3)]})), {{}}),"
        for _ in range(3)
    ]
    calls = "def calls():\n    return [\n" + "".join(f"        {row}\n" for row in rows) + "    ]"
    return module([helper, program, "def build(jit):\n    return jit(program, autograph=True)", calls], "python")


class _Statements:
    def __init__(self, writer: Writer):
        self.rng = writer.rng
        self.count = 9
        self.inside_function = ""

    def function(self, name: str, parameters: str, length: int) -> str:
        self.inside_function = name
        names = parameters.split(", ")
        lines = [line for _ in range(length) for line in self.statement(names, 0, in_loop=False)]
        reals = [one for one in names if one.startswith("s")]
        results = f"{reals[0]} + {reals[-1]}" if name == "helper" else f"{' + '.join(reals[:1] + reals[2:])}, s2, n1, n2, a"
        return f"def {name}({parameters}):\n" + textwrap.indent("\n".join([*lines, f"return {results}"]), "    ")

    def real(self, names: list[str]) -> str:
        rng = self.rng
        reals = [one for one in names if one.startswith("s")]
        whole = [one for one in names if one.startswith("n")]
        one, two, n = rng.choice(reals), rng.choice(reals), rng.choice(whole)
        forms = [
            f"{one} * 0.5 + {two}",
            f"{one} - {n}",
            f"jnp.sin({one})",
            f"min({one}, {two})",
            f"abs({one})",
            f"{one} + 1.0",
            f"max({one}, -{two}, 0.5)",
            f"({one} if {self.condition(names)} else {two} * 2)",
            f"{two} / 4",
            f"float({n}) * {one}",
            f"jnp.clip({one}, -3.0, 3.0)",
        ]
        if "a" in names:
            forms += ["a.sum()", f"a[{n} % 3]", "a[-1]", f"sum(a) + {one}", f"helper({one}, {n})", f"float(len(a)) + {two}", "max(a)"]
        return rng.choice(forms)

    def whole(self, names: list[str]) -> str:
        whole = [one for one in names if one.startswith("n")]
        one, two = self.rng.choice(whole), self.rng.choice(whole)
        return self.rng.choice(
            (
                f"{one} + 1",
                f"{one} - {two}",
                f"{one} % 3",
                f"{one} // 2",
                f"-{one}",
                f"({one} * 3) % 5",
                f"{one}",
                f"max({one}, {two})",
                f"abs({two})",
            )
        )

    def condition(self, names: list[str]) -> str:
        rng = self.rng
        one, n = (rng.choice([name for name in names if name.startswith(stem)]) for stem in "sn")
        simple = [
            f"{one} > {rng.choice((0, 0.5, -1.0))}",
            f"{n} % 2 == 0",
            f"{n} < 2",
            f"{one} <= {n}",
            f"0 < {one} < 2",
            f"{n} != 1",
            f"{n} in (0, 2)",
        ]
        first = rng.choice(simple)
        return rng.choice((first, first, f"not {first}", f"{first} and {rng.choice(simple)}", f"{first} or {rng.choice(simple)}"))

    def block(self, names: list[str], depth: int, in_loop: bool) -> list[str]:
        """Statements whose new variables end with the block."""
        known = list(names)
        lines = [line for _ in range(self.rng.choice((1, 1, 2))) for line in self.statement(known, depth + 1, in_loop)]
        return ["    " + line for line in lines]

    def statement(self, names: list[str], depth: int, in_loop: bool) -> list[str]:
        rng = self.rng
        old = rng.choice([one for one in names if one[0] in "sn"])
        forms = ["set", "set", "augment", "swap"]
        forms += ["if", "if", "for", "while", "new", "each"] if depth < 3 else []
        forms += ["element"] if "a" in names else []
        forms += ["break"] * 2 if in_loop else []
        forms += ["return"] if depth and rng.random() < 0.4 else []
        match rng.choice(forms):
            case "set":
                return [f"{old} = {self.real(names) if old[0] == 's' else self.whole(names)}"]
            case "augment":
                return [f"{old} {rng.choice(('+=', '-='))} {self.real(names) if old[0] == 's' else self.whole(names)}"]
            case "swap":
                reals = [one for one in names if one.startswith("s")]
                one, two = rng.choice(reals), rng.choice(reals)
                return [f"{one}, {two} = {two}, {self.real(names)}"]
            case "element":
                index = rng.choice(("0", "-1", f"{rng.choice([one for one in names if one[0] == 'n'])} % 3"))
                return [f"a[{index}] {rng.choice(('=', '+=', '*='))} {self.real(names)}"] if rng.random() < 0.6 else [f"a = a * {self.real(names)}"]
            case "new":
                self.count += 1
                lines = [f"s{self.count} = {self.real(names)}"]
                names.append(f"s{self.count}")
                return lines
            case "if":
                lines = [f"if {self.condition(names)}:", *self.block(names, depth, in_loop)]
                if rng.random() < 0.3:
                    lines += [f"elif {self.condition(names)}:", *self.block(names, depth, in_loop)]
                return lines + (["else:", *self.block(names, depth, in_loop)] if rng.random() < 0.6 else [])
            case "for":
                self.count += 1
                index, n = f"n{self.count}", rng.choice([one for one in names if one[0] == "n"])
                bounds = rng.choice(("3", f"min({n}, 3)", f"0, {n} % 4", "1, 6, 2", f"min({n}, 3), -1, -1", "2, 2", f"abs({n}) % 4"))
                lines = [f"for {index} in range({bounds}):", *self.block([*names, index], depth, True)]
                return lines + (["else:", *self.block(names, depth, in_loop)] if rng.random() < 0.15 else [])
            case "each":
                self.count += 1
                item = f"s{self.count}"
                if "a" not in names:
                    return [f"for {item} in (0.5, 1.5, -1.0):", *self.block([*names, item], depth, True)]
                head = rng.choice(
                    (
                        f"for {item} in a:",
                        f"for n{self.count}, {item} in enumerate(a):",
                        f"for {item}, _ in zip(a, range(2)):",
                        f"for {item} in reversed(a):",
                    )
                )
                more = [item] + ([f"n{self.count}"] if "enumerate" in head else [])
                # Python's loop over an array would see what the body writes into it.
                inside = [one for one in names if one != "a"]
                return [head, *self.block([*inside, *more], depth, True)]
            case "while":
                self.count += 1
                counter = f"w{self.count}"
                return [
                    f"{counter} = 0",
                    f"while {counter} < {rng.choice((1, 3, 4))} and ({self.condition(names)}):",
                    f"    {counter} += 1",
                    *self.block(names, depth, True),
                ]
            case "break":
                return [f"if {self.condition(names)}:", f"    {rng.choice(('break', 'continue'))}"]
            case _:
                given = self.real(names)
                whole = "s1, s2, n1, n2, a" if self.inside_function == "program" else given
                return [f"if {self.condition(names)}:", f"    return {whole}"]
