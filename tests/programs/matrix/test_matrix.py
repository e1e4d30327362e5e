"""Every program of the matrix, at every size, compiled once a form, against plain JAX."""

import pytest

from programs.matrix.on_the_host import ON_THE_HOST
from programs.matrix.programs import ALL
from programs.matrix.runner import check, plain_jax


@pytest.mark.sample(20)
@pytest.mark.parametrize("name", ALL)
def test_as_plain_jax(name):
    on_the_host = check(ALL[name], plain_jax(ALL[name]))
    assert tuple(primitive for primitive, _ in on_the_host) == ON_THE_HOST.get(name, ())


def test_there_are_at_least_250_programs():
    assert len(ALL) >= 250


def test_nearly_all_of_them_are_compiled_once():
    """The others depend on their size by JAX's own rules, as their tables say."""
    assert sum(program.compilations > 1 for program in ALL.values()) <= 3


def test_how_many_equations_run_on_the_host():
    assert ON_THE_HOST.keys() <= ALL.keys()
    assert sum(map(len, ON_THE_HOST.values())) == 0
