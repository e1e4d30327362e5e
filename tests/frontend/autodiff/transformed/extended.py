"""Numbers of 40 digits: mathematics, a simulator of three wires, and finite differences.

Central differences with a step of 1e-12 have 20 right digits here, for second derivatives 16.
"""

from itertools import product
from typing import Any

import mpmath
import numpy as np

mpmath.mp.dps = 40
STEP = mpmath.mpf(10) ** -12
WIRES = 3

sin, cos, exp, sqrt, tanh, log = (
    mpmath.sin, mpmath.cos, mpmath.exp, mpmath.sqrt, mpmath.tanh, mpmath.log,
)  # fmt: skip
real, imag = mpmath.re, mpmath.im


def values(f: Any, x: Any) -> Any:
    """What a function of a list of numbers returns, an array of numbers."""
    return np.array([mpmath.mpf(value) for value in f(list(x))], object)


def jacobian(f: Any, x: Any) -> Any:
    """First derivatives, `[result, argument]`."""
    columns = [(values(f, x + e) - values(f, x - e)) / (2 * STEP) for e in _units(x)]
    return np.array(columns, object).T


def hessian(f: Any, x: Any) -> Any:
    """Second derivatives, `[result, argument, argument]`."""
    size = len(x)
    units = _units(x)
    table = np.empty((size, size), object)
    for i, j in product(range(size), range(size)):
        if i <= j:
            a, b = units[i], units[j]
            found = values(f, x + a + b) - values(f, x + a - b)
            found = found - values(f, x - a + b) + values(f, x - a - b)
            table[i, j] = table[j, i] = found / (4 * STEP**2)
    return np.array([[list(row) for row in table[i]] for i in range(size)], object).transpose(
        2, 0, 1
    )


def _units(x: Any) -> Any:
    return np.array([[STEP if i == j else 0 for j in range(len(x))] for i in range(len(x))], object)


# --- matrices -------------------------------------------------------------------------------------


def matrix(rows: Any) -> Any:
    """A matrix of numbers."""
    return np.array([[mpmath.mpmathify(entry) for entry in row] for row in rows], object)


def expm(a: Any) -> Any:
    """The exponential of a matrix."""
    return _array(mpmath.expm(mpmath.matrix(a.tolist()), method="taylor"))


def _array(a: Any) -> Any:
    return np.array(a.tolist(), object)


# --- circuits -------------------------------------------------------------------------------------

_I, _X = matrix([[1, 0], [0, 1]]), matrix([[0, 1], [1, 0]])
_Y, _Z = matrix([[0, -1j], [1j, 0]]), matrix([[1, 0], [0, -1]])
PAULIS = {"I": _I, "X": _X, "Y": _Y, "Z": _Z}


def kron(*factors: Any) -> Any:
    """The product of matrices on different wires."""
    found = np.array([[mpmath.mpf(1)]], object)
    for factor in factors:
        found = np.kron(found, factor)
    return found


def word(letters: str) -> Any:
    """A word of Paulis on all wires."""
    return kron(*(PAULIS[letter] for letter in letters))


def _rotation(angle: Any, generator: Any) -> Any:
    identity = np.diag([mpmath.mpf(1)] * len(generator))
    return mpmath.cos(angle / 2) * identity - 1j * mpmath.sin(angle / 2) * generator


def _controlled(block: Any) -> Any:
    full = np.diag([mpmath.mpc(1)] * 4)
    full[2:, 2:] = block
    return full


class Circuit:
    """A register; operators of PennyLane's names act on it."""

    def __init__(self) -> None:
        """Start in |000>."""
        self.state = np.array([mpmath.mpc(1), *[mpmath.mpc(0)] * (2**WIRES - 1)], object)

    def QubitUnitary(self, full: Any, wires: Any) -> None:
        """Apply a matrix."""
        on = [wires] if isinstance(wires, int) else [int(wire) for wire in wires]
        count = len(on)
        tensor = np.array(full, object).reshape([2] * (2 * count))
        state = self.state.reshape([2] * WIRES)
        state = np.tensordot(tensor, state, axes=(range(count, 2 * count), on))
        self.state = np.moveaxis(state, range(count), on).reshape(-1)

    def RX(self, angle: Any, wires: Any) -> None:
        self.QubitUnitary(_rotation(angle, _X), wires)

    def RY(self, angle: Any, wires: Any) -> None:
        self.QubitUnitary(_rotation(angle, _Y), wires)

    def RZ(self, angle: Any, wires: Any) -> None:
        self.QubitUnitary(_rotation(angle, _Z), wires)

    def CRY(self, angle: Any, wires: Any) -> None:
        self.QubitUnitary(_controlled(_rotation(angle, _Y)), wires)

    def CRZ(self, angle: Any, wires: Any) -> None:
        self.QubitUnitary(_controlled(_rotation(angle, _Z)), wires)

    def IsingXX(self, angle: Any, wires: Any) -> None:
        self.QubitUnitary(_rotation(angle, np.kron(_X, _X)), wires)

    def PhaseShift(self, angle: Any, wires: Any) -> None:
        self.QubitUnitary(np.diag([mpmath.mpc(1), mpmath.expj(angle)]), wires)

    def Hadamard(self, wires: Any) -> None:
        self.QubitUnitary((_X + _Z) / mpmath.sqrt(2), wires)

    def CNOT(self, wires: Any) -> None:
        self.QubitUnitary(_controlled(_X), wires)

    def GlobalPhase(self, angle: Any) -> None:
        self.state = self.state * mpmath.expj(-angle)

    def StatePrep(self, amplitudes: Any, wires: Any) -> None:
        """As the first operator, on the first wires."""
        rest = [mpmath.mpc(1), *[mpmath.mpc(0)] * (2 ** (WIRES - len(wires)) - 1)]
        self.state = np.kron(np.array(amplitudes, object), np.array(rest, object))


def expectation(state: Any, operator: Any) -> Any:
    """<s|O|s>."""
    return mpmath.re(np.conjugate(state) @ (operator @ state))


def variance(state: Any, operator: Any) -> Any:
    """The variance of an observable."""
    return expectation(state, operator @ operator) - expectation(state, operator) ** 2


def reduced(state: Any, wire: int) -> Any:
    """The density matrix of one wire."""
    rows = np.moveaxis(state.reshape([2] * WIRES), wire, 0).reshape(2, -1)
    return rows @ np.conjugate(rows).T


def parts(numbers: Any) -> list[Any]:
    """Real parts, then imaginary parts."""
    flat = list(np.ravel(numbers))
    return [mpmath.re(value) for value in flat] + [mpmath.im(value) for value in flat]
