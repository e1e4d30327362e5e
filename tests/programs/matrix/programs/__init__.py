"""The tables, a module a topic, each with `PROGRAMS`."""

from programs.matrix.programs import (
    contractions,
    control_flow,
    creation,
    derivatives,
    elementwise,
    indexing,
    lax_operations,
    linear_algebra,
    neural,
    random_numbers,
    reductions,
    scipy_functions,
    shapes,
    sorting,
)
from programs.matrix.runner import Program

TOPICS = (
    creation,
    elementwise,
    reductions,
    sorting,
    indexing,
    shapes,
    contractions,
    lax_operations,
    control_flow,
    derivatives,
    neural,
    scipy_functions,
    random_numbers,
    linear_algebra,
)


def _program(entry: object) -> Program:
    return entry if isinstance(entry, Program) else Program(entry)


ALL: dict[str, Program] = {
    f"{topic.__name__.rsplit('.', 1)[-1]}: {name}": _program(entry)
    for topic in TOPICS
    for name, entry in topic.PROGRAMS.items()
}
"""Every program, by topic and name."""
