"""What attributes hold before a method is traced, to find and undo what tracing leaves in them.

In: values, as they are read. Out: whether tracers have come into one since then, at any depth.
Containers and objects of the user's classes are put back as they were.
"""

from collections.abc import Iterator
from typing import Any

from diastase.api.methods.contents import PLAIN, own_and_parts
from diastase.autograph.contents import held, is_changed, own_attributes, put_back
from diastase_mlir.jax_internals import Tracer


class Snapshot:
    """An object, and what was reached from those of its attributes that have been noted."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._known: dict[int, tuple[Any, Any]] = {id(root): (root, own_attributes(root))}

    def note(self, value: Any) -> None:
        """Remember what a value holds."""
        for part in self._reached(value):
            self._known.setdefault(id(part), (part, held(part)))

    def is_traced(self, value: Any) -> bool:
        """Whether it holds tracers that it did not hold when it was noted."""
        parts = self._reached(value)
        return any(isinstance(part, Tracer) and id(part) not in self._known for part in parts)

    def put_back(self) -> None:
        """Undo all changes of what has been noted."""
        for value, before in self._known.values():
            if before is not None and is_changed(value, before):
                put_back(value, before)

    def _reached(self, value: Any) -> Iterator[Any]:
        """All that a value consists of; the object itself is left out."""
        seen, pending = {id(self._root): self._root}, [value]
        while pending:
            part = pending.pop()
            if type(part) in PLAIN or id(part) in seen:
                continue
            seen[id(part)] = part
            yield part
            if not isinstance(part, Tracer):
                pending += own_and_parts(part)[1]
