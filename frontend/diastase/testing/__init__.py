"""Proving passes on circuits: random circuits with control flow, with a pass and without it.

    from diastase.testing import check_pass

    def test_absorb_hadamards():
        check_pass("absorb_hadamards", never_more=gates)

Circuits are drawn by hypothesis (`pip install hypothesis`), so one that fails is made small.
"""

from diastase.testing.pass_checks import PassCheck, PassFailure, check_pass, gates
from diastase.testing.random_circuits import Program, programs

__all__ = ["PassCheck", "PassFailure", "Program", "check_pass", "gates", "programs"]
