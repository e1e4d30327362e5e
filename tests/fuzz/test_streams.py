"""Streams of random numbers are those of earlier versions, on any number of threads."""

import json

import jax
import pytest

from fuzz.oracles.compilation import ELSEWHERE, NO_CACHE
from fuzz.streams import GOLDEN, PROGRAMS, stream

jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_those_of_earlier_versions(name):
    assert stream(name) == json.loads(GOLDEN.read_text())[name]


@pytest.mark.parametrize("child", [ELSEWHERE, NO_CACHE], ids=["one thread", "three threads"])
def test_threads_and_processes_do_not_change_them(child):
    for name, expected in json.loads(GOLDEN.read_text()).items():
        assert child.ask({"stream": name}) == expected
