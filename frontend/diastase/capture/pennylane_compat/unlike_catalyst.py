"""What programs written for Catalyst mean differently here, by design, is said while it is traced.

Only where diastase stands in for Catalyst: its own programs, and PennyLane's, mean what they say.
`docs/from-catalyst.md` has the list, with what cannot be seen while tracing.
"""

import warnings

from diastase.capture.pennylane_compat.compilers import stands_in_for_catalyst
from diastase_mlir.diagnostics import stack_level_of_user


class UnlikeCatalystWarning(UserWarning):
    """A program that was written for Catalyst has another result here, by design.

        import diastase.as_catalyst

        number = measure(0) + measure(1)     # 0, 1 or 2; with Catalyst 0 or 1

    Given where diastase stands in for Catalyst only; the message says how to write either meaning.
    """


def warn_unlike_catalyst(here: str, there: str, instead: str) -> None:
    """Say what a program means here, what it means with Catalyst, and what to write."""
    if stands_in_for_catalyst():
        message = f"{here}; with Catalyst {there}: {instead}"
        warnings.warn(message, UnlikeCatalystWarning, stacklevel=stack_level_of_user())
