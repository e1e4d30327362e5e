"""`qjit`, and all between a call and its program: options, stages, dispatch, interoperability.

`QJIT` and `qjit` are where Catalyst has them, too: PennyLane asks for `catalyst.jit.QJIT`.
"""

from diastase.jit.qjit import QJIT, qjit

__all__ = ["QJIT", "qjit"]
