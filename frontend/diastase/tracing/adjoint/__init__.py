"""The adjoint of a quantum function: its operations in reverse order, each as its adjoint.

`trace_adjoint` traces the function as a region (register in, register out) and records what undoes
it. A function to be inverted measures nothing, so its classical part does not depend on the
register: it is computed first, forwards, as the function says (`classical`). Then the equations
on the register follow, from the last to the first (`backwards`). Loops run backwards, with the
values that they carried in each iteration (`history`), branches keep their predicates. What is
recorded are equations of the usual kinds only.
"""

from diastase.tracing.adjoint.backwards import ADJOINT_RULES
from diastase.tracing.adjoint.gates import ADJOINT_GATES
from diastase.tracing.adjoint.record import trace_adjoint

__all__ = ["ADJOINT_GATES", "ADJOINT_RULES", "trace_adjoint"]
