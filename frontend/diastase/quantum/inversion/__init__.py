"""The adjoint of a quantum function: its operations in reverse order, each as its adjoint.

`quantum.qnode.adjoint_functions` traces the function as a region (register in, register out) and
records what undoes it. A function to be inverted measures nothing, so its classical part does not
depend on the register: it is computed first, forwards, as the function says
(`jaxprs.classical_slice`). Then the equations on the register follow, from the last to the first
(`invert`). Loops run backwards, with the values that they carried in each iteration
(`jaxprs.loop_reversal`), branches keep their predicates. What is recorded are equations of the
usual kinds only.
"""

from diastase.quantum.inversion.gates import ADJOINT_GATES
from diastase.quantum.inversion.invert import ADJOINT_RULES

__all__ = ["ADJOINT_GATES", "ADJOINT_RULES"]
