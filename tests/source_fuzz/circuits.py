"""Circuits of PennyLane: QNodes with loops and branches, templates, observables, measurements in the middle.

The reference runs the same text with `DEVICE = "default.qubit"`, NumPy for `jax.numpy` and Python's loops. Parameters
are `x`, four angles, `t`, one, and `k`, an integer.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

    from source_fuzz.writer import Writer

_GATES = {  # parameters, wires
    "Hadamard PauliX PauliY PauliZ S T SX": (0, 1),
    "RX RY RZ PhaseShift U1": (1, 1),
    "Rot U3": (3, 1),
    "U2": (2, 1),
    "CNOT CZ CY SWAP ISWAP SISWAP ECR CH": (0, 2),
    "CRX CRY CRZ ControlledPhaseShift IsingXX IsingYY IsingZZ IsingXY PSWAP SingleExcitation CPhaseShift00 SingleExcitationPlus"
    " FermionicSWAP CPhaseShift10 SingleExcitationMinus": (1, 2),
    "CRot": (3, 2),
    "Toffoli CSWAP CCZ": (0, 3),
    "DoubleExcitation OrbitalRotation": (1, 4),
}  # fmt: skip
_BY_WIRES = [(name, *arity) for names, arity in _GATES.items() for name in names.split()]


def circuit_program(writer: Writer) -> str:
    from source_fuzz.programs import module

    return _Circuit(writer.rng).program(module)


class _Circuit:
    def __init__(self, rng: random.Random):
        self.rng = rng
        self.wires = rng.choice((1, 2, 3, 3, 4, 4, 5))
        self.outcomes = 0
        self.count = 0
        self.way = rng.choices(("plain", "gradient", "deferred", "shots", "mapped", "two", "mixed"), (34, 24, 12, 6, 8, 10, 6))[0]
        if self.way == "deferred":
            self.wires = min(self.wires, 3)

    def angle(self, index: str | None = None) -> str:
        rng = self.rng
        forms = [
            "t",
            "x[0]",
            "x[1]",
            "x[2] * t",
            "0.7",
            "jnp.sin(x[3])",
            "-x[1]",
            "x[0] + 0.3",
            "t / 2",
            "jnp.sum(x)",
            "k * t",
            "x[k % 4]",
            "jnp.pi / 2",
            "t ** 2",
        ]
        forms += [f"x[{index} % 4]", f"x[{index} % 4] * {index}", f"t / ({index} + 1)"] * 3 if index else []
        return rng.choice(forms)

    def some(self, count: int, index: str | None = None) -> list[str]:
        """Different wires, some of which the program computes."""
        chosen = self.rng.sample(range(self.wires), count)
        if self.way == "deferred":  # its device has no wires but those that are named
            return [str(one) for one in chosen]
        if index and self.rng.random() < 0.5:
            return [f"({index} + {one}) % {self.wires}" for one in chosen]
        if self.rng.random() < 0.1:
            return [f"(k + {one}) % {self.wires}" for one in chosen]
        return [str(one) for one in chosen]

    def operator(self, index: str | None = None, most: int = 9) -> str:
        rng = self.rng
        fitting = [one for one in _BY_WIRES if one[2] <= min(self.wires, most)]
        name, parameters, wires = rng.choice(fitting)
        values = [self.angle(index) for _ in range(parameters)]
        return f"qml.{name}({', '.join([*values, f'wires=[{chr(44).join(self.some(wires, index))}]'])})"

    def special(self, index: str | None) -> str:
        """Functions of operators, matrices and templates."""
        rng = self.rng
        one, (w0, *_) = self.some(1)[0], self.some(1)
        all_wires = f"range({self.wires})"
        forms = [
            f"qml.adjoint({self.operator(index)})", f"qml.pow({self.operator(None, 2)}, {rng.choice(('2', '0.5', '-1', '3'))})",
            f"qml.QubitUnitary(np.array([[0, 1j], [1, 0]]), wires={w0})", f"qml.PhaseShift({self.angle(index)}, {w0})",
            f"qml.DiagonalQubitUnitary(np.array([1, 1j]), wires={w0})",
            f"qml.GlobalPhase({self.angle()}, wires={one})", f"qml.QFT(wires={all_wires})", f"qml.adjoint(qml.QFT)(wires={all_wires})",
            f"qml.AngleEmbedding(x[:{min(self.wires, 4)}], wires={all_wires}, rotation={rng.choice('XYZ')!r})" if self.wires <= 4 else "qml.Hadamard(0)",
            f"qml.MultiRZ({self.angle(index)}, wires={all_wires})", f"qml.PauliRot({self.angle(index)}, {''.join(rng.choice('XYZI') for _ in range(self.wires))!r}, wires={all_wires})",
            f"qml.BasicEntanglerLayers(x[:{self.wires}].reshape(1, {self.wires}), wires={all_wires})" if 1 < self.wires <= 4 else "qml.S(0)",
            f"qml.exp(qml.{rng.choice('XYZ')}({w0}), 1j * {self.angle()})", f"qml.evolve(qml.{rng.choice('XYZ')}({w0}), {self.angle()})",
            f"qml.prod({self.operator(None, 1)}, {self.operator(None, 1)})", f"qml.Barrier({all_wires})", f"qml.Identity({w0})",
        ]  # fmt: skip
        if self.wires >= 2:
            target, control, *rest = self.some(min(self.wires, 3))
            values = rng.choice(("", ", control_values=0", ", control_values=[False]", ", control_values=1"))
            forms += [
                f"qml.ctrl(qml.{rng.choice(('RX', 'RY', 'PhaseShift'))}({self.angle(index)}, {target}), control={control}{values})",
                f"qml.ctrl(qml.{rng.choice(('S', 'T', 'PauliY', 'Hadamard'))}, control=[{control}]{values})({target})",
                f"qml.adjoint(qml.ctrl(qml.U2({self.angle()}, 0.2, {target}), {control}))",
                f"qml.ControlledQubitUnitary(np.array([[0, -1], [1, 0]]), wires=[{control}, {target}])",
                f"qml.GroverOperator(wires={all_wires})", f"qml.StronglyEntanglingLayers(jnp.tile(x[:3], (1, {self.wires}, 1)), wires={all_wires})",
                f"qml.TrotterProduct(qml.X({target}) @ qml.Z({control}) + 0.5 * qml.Z({target}), {self.angle()}, n=1, order=2)",
                f"qml.IQPEmbedding(jnp.tile(t, {self.wires}), wires={all_wires})", f"qml.Permute({list(reversed(range(self.wires)))}, wires={all_wires})",
                f"qml.Select([qml.X({target}), qml.RY({self.angle()}, {target})], control=[{control}])", f"qml.Reflection(qml.Hadamard({target}), {self.angle()})",
                f"qml.ctrl(qml.adjoint(lambda: (qml.RX({self.angle()}, {target}), qml.S({target})) and None), control={control})()",
            ]  # fmt: skip
            if rest:
                forms += [f"qml.ctrl(qml.IsingXY({self.angle()}, wires=[{target}, {rest[0]}]), control={control}{values})", f"qml.MultiControlledX(wires=[{control}, {target}, {rest[0]}], control_values=[1, 0])",
                          f"qml.QuantumPhaseEstimation(qml.RZ({self.angle()}, {target}), estimation_wires=[{control}])"]  # fmt: skip
        return rng.choice(forms)

    def statement(self, depth: int, index: str | None) -> list[str]:
        rng = self.rng
        self.count += 1
        name, number = f"part{self.count}", f"i{self.count}"
        kind = rng.choices(
            ("operator", "special", "loop", "branch", "scan", "function", "outcome", "noise"),
            (40, 22, *((9, 9, 5, 6) if depth < 2 else (0, 0, 0, 0)), 12 if self.way == "deferred" and depth == 0 and self.outcomes < 3 else 0,
             12 if self.way == "mixed" else 0),
        )[0]  # fmt: skip
        match kind:
            case "operator":
                return [self.operator(index)]
            case "special":
                return [self.special(index)]
            case "loop":
                bounds = rng.choice(("0, 2, 1", "0, k, 1", "1, 6, 2", "0, 3, 1", "k, 3, 1", f"0, {self.wires}, 1"))
                return [f"@{rng.choice(('for_loop', 'qml.for_loop'))}({bounds})", f"def {name}({number}):", *self.block(depth, number), f"{name}()"]
            case "branch":
                test = rng.choice(("k > 1", "t > 0.3", "x[1] > x[0]", "k % 2 == 0", *([f"{index} > 0"] * 3 if index else [])))
                lines = [f"@{rng.choice(('cond', 'cond'))}({test})", f"def {name}():", *self.block(depth, index)]
                if rng.random() < 0.3:
                    lines += [f"@{name}.else_if({rng.choice(('t < 0', 'k == 0'))})", f"def {name}():", *self.block(depth, index)]
                if rng.random() < 0.6:
                    lines += [f"@{name}.otherwise", f"def {name}():", *self.block(depth, index)]
                return [*lines, f"{name}()"]
            case "scan":
                body = self.block(depth, index)
                carried = [f"    qml.RX(angle, {self.some(1)[0]})", "    return angle * 0.5, n + 1"]
                return [
                    f"@while_loop(lambda angle, n: n < {rng.choice(('2', '3', 'k'))})",
                    f"def {name}(angle, n):",
                    *body,
                    *carried,
                    f"t = {name}(t, 0)[0]",
                ]
            case "function":
                wrap = rng.choice(("qml.adjoint({})()", "qml.adjoint({})()", "qml.ctrl({}, control=" + str(self.wires) + ")()"))
                return [f"def {name}():", *self.block(depth, index), wrap.format(name)]
            case "outcome":
                self.outcomes += 1
                wire = self.some(1)[0]
                then = rng.choice(
                    (
                        f"qml.cond(m{self.outcomes}, qml.RX)(t, {self.some(1)[0]})",
                        f"qml.cond(m{self.outcomes}, qml.PauliX, qml.Hadamard)({self.some(1)[0]})",
                        f"qml.cond(m{self.outcomes} == 0, qml.S)({wire})",
                    )
                )
                return [f"m{self.outcomes} = qml.measure({wire}{rng.choice(('', '', ', reset=True'))})", then]
            case _:
                channel = rng.choice(("DepolarizingChannel", "AmplitudeDamping", "PhaseFlip", "BitFlip", "PhaseDamping"))
                return [f"qml.{channel}({rng.choice(('0.1', 'jnp.sin(t) ** 2', '0.25'))}, wires={self.some(1)[0]})"]

    def block(self, depth: int, index: str | None) -> list[str]:
        lines = [line for _ in range(self.rng.choice((1, 1, 2, 3))) for line in self.statement(depth + 1, index)]
        # A body that assigns `t` would make it local to the function that stands around it.
        lines = [line.removeprefix("t = ") for line in lines]
        return ["    " + line for line in lines]

    def observable(self) -> str:
        rng = self.rng
        one = f"qml.{rng.choice('XYZ')}({self.some(1)[0]})"
        word = " @ ".join(f"qml.{rng.choice('XYZ')}({wire})" for wire in self.some(rng.randrange(1, self.wires + 1)))
        forms = [one, word, word, f"{word} + 0.5 * {one}", f"qml.Hermitian(np.array([[1, 1j], [-1j, 0.5]]), {self.some(1)[0]})", f"qml.Projector([{rng.choice('01')}], {self.some(1)[0]})",
                 f"qml.Hamiltonian([0.3, {self.angle()}], [{one}, {word}])", f"qml.s_prod(2.0, {word})", f"qml.sum({one}, {word}, {one})"]  # fmt: skip
        return forms[rng.randrange(2)] if self.way == "shots" else rng.choice(forms)

    def measurement(self) -> str:
        rng = self.rng
        wires = self.some(rng.randrange(1, self.wires + 1)) if rng.random() < 0.9 else []
        plain = [one for one in wires if one.isdigit()] or ["0"]
        forms = [f"qml.expval({self.observable()})"] * 4 + [f"qml.probs(wires=[{', '.join(plain)}])"] * 2
        if self.way == "shots":
            return rng.choice(forms)
        forms += [f"qml.var({self.observable()})"]
        if self.way == "deferred" and self.outcomes:
            return rng.choice(
                [*forms, f"qml.expval(m{self.outcomes})", f"qml.probs(op=[{', '.join(f'm{k + 1}' for k in range(self.outcomes))}])"] * 1
            )
        if self.way in ("plain", "mapped", "two"):
            forms += [
                "qml.state()",
                f"qml.density_matrix(wires=[{', '.join(plain[:2])}])",
                f"qml.purity(wires=[{plain[0]}])",
                f"qml.vn_entropy(wires=[{plain[0]}])",
                "qml.probs()",
            ]
        return rng.choice(forms)

    def qnode(self, name: str, results: list[str] | None = None) -> str:
        rng = self.rng
        lines = [line for _ in range(rng.choice((2, 4, 6, 8))) for line in self.statement(0, None)]
        if rng.random() < 0.15 and self.way != "shots":
            start = rng.choice((f"qml.BasisState(np.array({[rng.randrange(2) for _ in range(self.wires)]}), wires=range({self.wires}))",
                                f"qml.StatePrep(np.arange(1.0, {2**self.wires + 1}), wires=range({self.wires}), normalize=True)"))  # fmt: skip
            lines.insert(0, start)
        measured = results or [self.measurement() for _ in range(rng.choice((1, 1, 2, 3)))]
        if self.way == "mixed":
            measured = [one for one in measured if "var(" not in one] or ["qml.probs()"]
        lines.append("return " + (measured[0] if len(measured) == 1 else rng.choice(("({})", "[{}]", "({})")).format(", ".join(measured))))
        extra = any(f"control={self.wires})" in line for line in lines)
        options = ', mcm_method="deferred"' if self.way == "deferred" else ""
        decorators = ["@qml.set_shots(SHOTS)"] if self.way == "shots" else []
        # What is deferred and reset takes wires of its own on `default.qubit`.
        wires = "" if self.way == "deferred" else f", wires={self.wires + extra}"
        decorators.append(f"@qml.qnode(qml.device(DEVICE{wires}){options})")
        return "\n".join([*decorators, f"def {name}(x, t, k):", textwrap.indent("\n".join(lines), "    ")])

    def program(self, module: object) -> str:
        rng, way = self.rng, self.way
        parts, reference, settings = ([], "circuit", {"DEVICE": "default.mixed" if way == "mixed" else "lightning.qubit"})
        values = [
            (f"np.array({[round(rng.uniform(-2, 3), 2) for _ in range(4)]})", f"{round(rng.uniform(-1, 2), 2)}", str(rng.randrange(0, 4)))
            for _ in range(2)
        ]
        build = "jit(circuit)"
        if way == "gradient":
            reference = "gradient"
            parts = [self.qnode("circuit", [self.measurement_of_numbers() for _ in range(rng.choice((1, 1, 2)))])]
            total = rng.choice(("jnp.sum(jnp.sin({}))", "jnp.sum({} ** 2)", "jnp.sum({})"))
            parts.append(f"def cost(x, t, k):\n    return sum({total.format('one')} for one in jax.tree.leaves(circuit(x, t, k)))")
            build = rng.choice(
                (
                    "jit(jax.grad(cost))",
                    "jit(grad(cost))",
                    "jax.grad(jit(cost))",
                    "jit(jax.jacfwd(cost))",
                    "jit(lambda *values: value_and_grad(cost)(*values)[1])",
                    "jit(jax.jacrev(cost))",
                )
            )
        elif way == "two":
            parts = [self.qnode("circuit"), self.qnode("other", ["qml.expval(qml.Z(0))"])]
            parts.append(
                "def program(x, t, k):\n    first = other(x, t, k)\n    return first, circuit(x * first, t + first, k), other(x + first, t, k + 1)"
            )
            build = "jit(program)"
        elif way == "mapped":
            parts = [self.qnode("circuit")]
            build = rng.choice(("jit(vmap(circuit, in_axes=(0, None, None)))", "jit(vmap(circuit, in_axes=(0, 0, None)))"))
            scalar = "(0, 0" in build
            values = [(f"np.stack([{x}, 1 - {x}, {x} / 3])", f"np.array([{t}, 0.5, -{t}])" if scalar else t, k) for x, t, k in values]
        else:
            parts = [self.qnode("circuit")]
        if way == "shots":
            reference, settings = "shots", settings | {"SHOTS": 2000}
        calls = "def calls():\n    return [\n" + "".join(f"        (({', '.join(one)}), {{}}),\n" for one in values) + "    ]"
        # What the functions use stands before them: devices are made at once.
        names = [f"{name} = {value!r}" for name, value in settings.items()]
        return module(["\n".join(names), *parts, f"def build(jit):\n    return {build}", calls], reference)

    def measurement_of_numbers(self) -> str:
        return self.rng.choice(
            (f"qml.expval({self.observable()})", f"qml.expval({self.observable()})", f"qml.var({self.observable()})", "qml.probs(wires=[0])")
        )
