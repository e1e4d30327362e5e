"""Circuits of Clifford+T that the literature counts T gates of, made from their definitions.

A circuit is a number of wires and gates `(name, wires)`, by PennyLane's names. Toffoli gates are
written out with seven T gates (Nielsen and Chuang, figure 4.9). `PUBLISHED` has the T counts of

    Amy, Maslov and Mosca, "Polynomial-time T-depth optimization of Clifford+T circuits via matroid
    partitioning", arXiv:1303.2042

`read_qc` reads what is given as a file only, in the `.qc` format of these benchmarks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

PUBLISHED = {
    "mod5_4": 28, "tof_3": 21, "tof_4": 35, "tof_5": 49, "tof_10": 119, "barenco_tof_3": 28,
    "barenco_tof_4": 56, "barenco_tof_5": 84, "barenco_tof_10": 224, "vbe_adder_3": 70,
    "rc_adder_6": 77, "gf2^4_mult": 112, "gf2^5_mult": 175, "gf2^6_mult": 252, "qft_4": 69,
    "csla_mux_3": 70,
}  # fmt: skip
"""T gates before any optimization."""


@dataclass
class Circuit:
    """Gates on numbered wires."""

    wires: int
    gates: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)

    @property
    def t_count(self) -> int:
        """How many of the gates are T or its adjoint."""
        return sum(name in ("T", "Adjoint(T)") for name, _ in self.gates)

    def put(self, name: str, *wires: int) -> None:
        """One more gate."""
        self.gates.append((name, wires))

    def toffoli(self, first: int, second: int, target: int) -> None:
        """X of the target where both controls are 1."""
        self.put("Hadamard", target)
        self.ccz(first, second, target)
        self.put("Hadamard", target)

    def ccz(self, a: int, b: int, c: int) -> None:
        """Z where all three are 1."""
        self.put("CNOT", b, c)
        self.put("Adjoint(T)", c)
        self.put("CNOT", a, c)
        self.put("T", c)
        self.put("CNOT", b, c)
        self.put("Adjoint(T)", c)
        self.put("CNOT", a, c)
        self.put("T", b)
        self.put("T", c)
        self.put("CNOT", a, b)
        self.put("T", a)
        self.put("Adjoint(T)", b)
        self.put("CNOT", a, b)


# --- definitions ---------------------------------------------------------------------------------


def mod5_4() -> Circuit:
    """Flip wire 4 where the number on wires 0 to 3 is a multiple of 5.

    That is 1 + x0 + x1 + x2 + x3 + x0 x3 + x3 x2 + x2 x1 + x1 x0, modulo 2.
    """
    circuit = Circuit(5)
    circuit.put("PauliX", 4)
    for one, other in ((0, 3), (3, 2), (2, 1), (1, 0)):
        circuit.toffoli(one, other, 4)
        circuit.put("CNOT", one, 4)
    return circuit


def tof(controls: int) -> Circuit:
    """X of the last wire under controls, which come first, with auxiliary wires that are 0."""
    circuit = Circuit(2 * controls - 1)
    ladder = _ladder(controls)
    for step in (*ladder, *ladder[-2::-1]):
        circuit.toffoli(*step)
    return circuit


def barenco_tof(controls: int) -> Circuit:
    """The same with auxiliary wires that may be anything.

    Barenco et al., "Elementary gates for quantum computation", lemma 7.2.
    """
    circuit = Circuit(2 * controls - 1)
    ladder = _ladder(controls)
    down_and_up = (*ladder[:0:-1], *ladder)
    for step in (*down_and_up, *down_and_up[1:-1]):
        circuit.toffoli(*step)
    return circuit


def _ladder(controls: int) -> list[tuple[int, int, int]]:
    """Products of more and more controls: of the first two, of that and the third one, …"""
    rest = range(2, controls)
    return [
        (0, 1, controls),
        *((control, controls + place, controls + place + 1) for place, control in enumerate(rest)),
    ]


def vbe_adder(bits: int) -> Circuit:
    """b becomes a + b; wires are c0 a0 b0 c1 a1 b1 …, and the last carry.

    Vedral, Barenco and Ekert, "Quantum networks for elementary arithmetic operations",
    quant-ph/9511018.
    """
    circuit = Circuit(3 * bits + 1)
    for c in range(0, 3 * bits, 3):
        circuit.toffoli(c + 1, c + 2, c + 3)
        circuit.put("CNOT", c + 1, c + 2)
        circuit.toffoli(c, c + 2, c + 3)
    for c in range(3 * bits - 3, -1, -3):
        if c < 3 * bits - 3:
            circuit.toffoli(c, c + 2, c + 3)
            circuit.put("CNOT", c + 1, c + 2)
            circuit.toffoli(c + 1, c + 2, c + 3)
            circuit.put("CNOT", c + 1, c + 2)
        circuit.put("CNOT", c, c + 2)
    return circuit


def rc_adder(bits: int) -> Circuit:
    """b becomes a + b; wires are b0 a0 b1 a1 …, an auxiliary one that is 0, and the last carry.

    Cuccaro, Draper, Kutin and Moulton, "A new quantum ripple-carry addition circuit",
    quant-ph/0410184, section 3.
    """
    circuit = Circuit(2 * bits + 2)
    x, z = 2 * bits, 2 * bits + 1
    b, a = range(0, x, 2), range(1, x, 2)
    targets, added = [x, *a[1:-1], z], [*a[1:], a[-1]]
    """Where a carry out of a bit is, plus the next bit of a, which is added before."""

    def carry(bit: int) -> None:
        circuit.toffoli(targets[bit - 1] if bit else a[0], b[bit], targets[bit])

    for bit in range(1, bits):
        circuit.put("CNOT", a[bit], b[bit])
    for bit in range(bits):
        circuit.put("CNOT", added[bit], targets[bit])
        carry(bit)
    for bit in range(1, bits - 1):
        circuit.put("PauliX", b[bit])
    for bit in range(1, bits):
        circuit.put("CNOT", targets[bit - 1], b[bit])
    for bit in range(bits - 2, -1, -1):
        carry(bit)
        circuit.put("CNOT", added[bit], targets[bit])
        if bit:
            circuit.put("PauliX", b[bit])
    for bit in range(bits):
        circuit.put("CNOT", a[bit], b[bit])
    return circuit


def gf2_mult(degree: int) -> Circuit:
    """c becomes the product of a and b in GF(2^degree); wires are a, b and c, which is 0.

    Products of x^degree and above are summed up first, and become lower ones by CNOTs. Maslov,
    Mathew, Cheung and Pradhan, "An O(m^2)-depth quantum algorithm for the elliptic curve discrete
    logarithm problem over GF(2^m)", arXiv:0710.1093.
    """
    circuit, middle = Circuit(3 * degree), TRINOMIALS[degree]
    c = range(2 * degree, 3 * degree)
    _products(circuit, degree, range(degree, 2 * degree - 1))
    for power in range(degree - middle, degree - 1):
        circuit.put("CNOT", c[power], c[power + middle - degree])
    for power in range(degree - 1, middle - 1, -1):
        circuit.put("CNOT", c[power - middle], c[power])
    _products(circuit, degree, range(degree))
    return circuit


TRINOMIALS = {2: 1, 3: 1, 4: 1, 5: 2, 6: 1, 7: 1}
"""By its degree n the k of x^n + x^k + 1, which is irreducible."""


def _products(circuit: Circuit, degree: int, powers: Sequence[int]) -> None:
    """Add products of coefficients, whose powers of x are these, to c."""
    targets = [2 * degree + power % degree for power in powers]
    for target in targets:
        circuit.put("Hadamard", target)
    for power, target in zip(powers, targets, strict=True):
        for i in range(max(0, power - degree + 1), min(power, degree - 1) + 1):
            circuit.ccz(i, degree + power - i, target)
    for target in targets:
        circuit.put("Hadamard", target)


def all_circuits() -> dict[str, Circuit]:
    """The circuits by the names that the literature has for them."""
    return {
        "mod5_4": mod5_4(),
        **{f"tof_{n}": tof(n) for n in (3, 4, 5, 10)},
        **{f"barenco_tof_{n}": barenco_tof(n) for n in (3, 4, 5, 10)},
        "vbe_adder_3": vbe_adder(3),
        "rc_adder_6": rc_adder(6),
        **{f"gf2^{n}_mult": gf2_mult(n) for n in (4, 5, 6)},
    }


# --- files ---------------------------------------------------------------------------------------

_NAMES = {"H": "Hadamard", "T": "T", "T*": "Adjoint(T)", "S": "S", "S*": "Adjoint(S)"}


def read_qc(file: Path) -> Circuit:
    """A circuit of H, S, T, their adjoints, X, CNOT, Toffoli and doubly controlled Z."""
    lines = [line.split() for line in file.read_text().splitlines() if line.strip()]
    names = next(line[1:] for line in lines if line[0] == ".v")
    numbers = {name: number for number, name in enumerate(names)}
    circuit = Circuit(len(names))
    for name, *given in lines:
        if name.startswith(".") or name in ("BEGIN", "END"):
            continue
        wires = [numbers[wire] for wire in given]
        match name, len(wires):
            case ("tof" | "X", 1):
                circuit.put("PauliX", *wires)
            case ("tof", 2):
                circuit.put("CNOT", *wires)
            case ("tof", 3):
                circuit.toffoli(*wires)
            case ("Z" | "Zd", 3):
                circuit.ccz(*wires)
            case (_, 1) if name in _NAMES:
                circuit.put(_NAMES[name], *wires)
            case _:
                raise ValueError(f"{file.name}: {name} of {len(wires)} wires is not known")
    return circuit
