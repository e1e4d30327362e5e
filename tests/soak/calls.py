"""A million calls of each family of programs, one after another, each compared."""

from functools import partial

from soak.programs import FAMILIES
from soak.scenarios import Steps, scenario

MILLION = 1_000_000


def many_calls(family: str, calls: int) -> Steps:
    of_family = FAMILIES[family]()
    for number in range(calls):
        of_family[number % len(of_family)].check()
        yield number + 1


for name in FAMILIES:
    scenario(f"calls: {name}", MILLION)(partial(many_calls, name))
