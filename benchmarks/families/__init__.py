"""Families of programs that grow, for `compile_scaling.py`: a file for each kind.

A family is a function of k, how often something stands in the program, that returns the program and
its arguments:

    @family(100)
    def sets_of_elements(k):
        def program(a, x):
            for i in range(k):
                a = a.at[i % a.size].set(x * i)
            return a

        return program, jnp.zeros(50), 1.3

The number is the least of the three sizes, k, 2 k and 4 k: chosen such that the largest takes a
second or a few, so that what is the same for all sizes does not hide how the rest grows. Data stay
small: what is measured is compiling, not running. Written out by Python's loops means written out
in the program; no two of the k things are quite equal unless the family is about equal ones.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FILES = (
    "circuits", "gate_blocks", "observables", "hybrid", "control_flow", "elements", "arrays",
    "scalars", "interfaces", "derivatives", "transformed", "dynamic_sizes",
)  # fmt: skip


@dataclass(frozen=True)
class Family:
    """Programs that differ in one size."""

    name: str
    make: Callable[[int], tuple[Any, ...]]
    """Gives the program, to be compiled by `qjit` if it is not yet, and its arguments."""
    smallest: int


FAMILIES: dict[str, Family] = {}
"""By name, in the order of the files."""


def family(smallest):
    def add(make):
        name = make.__name__.replace("_", "-")
        FAMILIES[name] = Family(name, make, smallest)
        return make

    return add


def all_families():
    """All families: their files import PennyLane and diastase."""
    for file in FILES:
        importlib.import_module(f"families.{file}")
    return FAMILIES
