"""A wrong guess about who asks for an equality of sizes costs a compilation, never an answer.

The policy (`jax_compat.symbolic.equality_policy`) says of most of JAX that it takes sizes as they
are: undecided, they are different. Here nobody is trusted: every question is a guard, wherever one
can stand, and the programs give what they give with the policy.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from diastase import qjit
from diastase.dynamic_shapes.assumptions import Assumptions
from diastase.dynamic_shapes.errors import UndecidableDimensionError
from diastase_mlir.jax_compat.symbolic import comparison, equality_policy
from programs.test_dynamic_programs import programs, verdicts


@pytest.fixture(name="asked")
def asked_fixture(monkeypatch):
    """Questions that the policy would have left alone, and for which a guard was made."""
    trusted, asked = [False], []

    def everybody(frame, about, *, in_type_rule):
        asker = equality_policy.asker_of(frame, about, in_type_rule=in_type_rule)
        trusted[0] = asker == "machinery"
        return "library" if trusted[0] else asker

    original = Assumptions.equal

    def equal(self, left, right):
        is_trusted, before = trusted[0], len(self.made)
        try:
            answer = original(self, left, right)
        except UndecidableDimensionError:
            if not is_trusted:
                raise
            return False
        if is_trusted and len(self.made) > before:
            asked.append((str(left), str(right)))
        return answer

    monkeypatch.setattr(comparison, "asker_of", everybody)
    monkeypatch.setattr(Assumptions, "equal", equal)
    return asked


REFUSED = {
    "circuit with an angle for each element": ("error", "with size 0"),
    "circuit with angles of a traced size": ("error", "with size 0"),
}
"""JAX refuses to trace the body of a loop that takes elements of an empty array: once it is told
that the array is empty, which the policy does not tell it, the loop over no elements is refused."""


@pytest.mark.sample(6)
@pytest.mark.filterwarnings("ignore:.*empty.*:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::diastase.RecompilationWarning")
@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_results_are_the_same(name, asked):
    verdict, reason = verdicts.judge(programs.PROGRAMS[name], verdicts.system("diastase"))
    expected, part = REFUSED.get(name, ("works", ""))
    assert (verdict, part in reason) == (expected, True), reason


@pytest.mark.filterwarnings("ignore::diastase.RecompilationWarning")
def test_nobody_is_trusted(asked):
    """Programs that the policy compiles once are asked about here."""
    function = qjit(lambda x: jnp.stack([x, x[::-1]]).sum(), abstracted_axes=("n",))
    for size in (0, 1, 2, 7):
        assert function(np.arange(float(size))) == size * (size - 1)
    assert asked
