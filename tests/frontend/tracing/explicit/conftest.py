"""Explicit jaxprs of functions, without compiling them."""

import jax
import pytest

from diastase.inspection.explicit_jaxpr import derive_explicit
from diastase.tracing.trace import trace


@pytest.fixture
def explicit():
    """`explicit(function, *arguments)`: the explicit jaxpr of the function, traced."""

    def derive(function, *arguments):
        avals = [jax.typeof(argument) for argument in arguments]
        return derive_explicit(trace(lambda *xs: jax.tree.leaves(function(*xs)), avals, "f"))

    return derive
