"""Every program of the matrix, at every size, compiled once a form, against plain JAX."""

import pytest

from matrix.on_the_host import ON_THE_HOST
from matrix.programs import ALL
from matrix.runner import check, plain_jax
from matrix.waiting import WAITING


@pytest.mark.parametrize("name", ALL)
def test_as_plain_jax(name):
    if name in WAITING:
        pytest.skip(WAITING[name])
    on_the_host = check(ALL[name], plain_jax(ALL[name]))
    assert tuple(primitive for primitive, _ in on_the_host) == ON_THE_HOST.get(name, ())


def test_there_are_at_least_250_programs():
    assert len(ALL.keys() - WAITING.keys()) >= 250


def test_only_programs_of_the_matrix_wait():
    assert WAITING.keys() <= ALL.keys()


def test_how_many_equations_run_on_the_host():
    assert ON_THE_HOST.keys() <= ALL.keys()
    assert sum(map(len, ON_THE_HOST.values())) == 4
