"""`QJIT` and `qjit` where Catalyst has them, too: PennyLane asks for `catalyst.jit.QJIT`."""

from diastase.api.qjit import QJIT, qjit

__all__ = ["QJIT", "qjit"]
