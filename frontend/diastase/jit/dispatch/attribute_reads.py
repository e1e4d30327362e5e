"""A mutable `self`: a compiled method depends on the attributes that it has read.

In: the object that a method is bound to, or a callable object. While the method is traced, reads of
its attributes are recorded (`WatchedSelf`); from then on their values are part of what a call's
program is looked up by, like those of static arguments. So a changed attribute means another
program. Values into which tracing has put tracers are found and put back (`Snapshot`).

The trap: Python reads attributes through the class, so that is where reads are recorded, for as
long as tracing takes; other threads see nothing of it but time.
"""

from collections.abc import Callable, Generator, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import currentframe
from threading import RLock
from types import CodeType, FunctionType, MethodType
from typing import Any

from jax.core import Tracer

from diastase.autograph.staging.contents import held, is_changed, own_attributes, put_back
from diastase.jit.dispatch.attribute_values import (
    ABSENT,
    PLAIN,
    Kept,
    attributes_of,
    own_and_parts,
    stored_in,
)
from diastase.jit.options.errors import TracedAttributeError
from diastase_mlir.diagnostics import is_user_file
from diastase_runtime.errors import Span


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


_COMPARING = RLock()


@dataclass(frozen=True)
class WatchedSelf:
    """An object whose methods are compiled."""

    instance: Any
    reads: dict[str, list[Kept]] = field(default_factory=dict)
    """The attributes that any of the programs has read: what they were so far, the latest last."""

    def state(self) -> Hashable:
        """What these attributes are now."""
        with _COMPARING:
            now = attributes_of(self.instance)
            now["__dict__"] = stored_in(self.instance)
            names = sorted(tuple(self.reads))
            return tuple((name, self._kept(name, now.get(name, ABSENT))) for name in names)

    def _kept(self, name: str, value: Any) -> Kept:
        """What the attribute was before, if it was the same, so that programs are found again."""
        known = self.reads.get(name, [])
        same = (kept for kept in reversed(known) if kept.is_still(value, self.instance))
        if (found := next(same, None)) is None:
            found = Kept(name, value, self.instance)
            known.append(found)
        elif found is not known[-1]:
            known.remove(found)
            known.append(found)
        return found

    @contextmanager
    def recording(self, is_inlined: bool = False) -> Generator[None]:
        """Note the attributes that are read inside, but for those that are set there, too.

        One that is read, set, and read again was filled (`if self.grid is None: self.grid = ...`):
        the program depends on what it is then.

        State that a whole program would have to hand to the next call is refused: an attribute that
        is read, and holds tracers afterwards. A program that the method is part of may go on so.
        """
        kind, instance, reads = type(self.instance), self.instance, self.reads
        usual: Any = kind.__getattribute__
        own = vars(kind).get("__getattribute__", ABSENT)
        places: dict[str, tuple[CodeType, int]] = {}
        filled = set[str]()
        before, snapshot = attributes_of(instance), Snapshot(instance)

        def read(of: Any, name: str) -> Any:
            if of is instance:
                reads.setdefault(name, [])
                if not _is_still(instance, name, before):
                    if name in places:
                        filled.add(name)
                elif name not in places:
                    frame: Any = currentframe()
                    places[name] = (frame.f_back.f_code, frame.f_back.f_lineno)
                    snapshot.note(before.get(name))
            return usual(of, name)

        type.__setattr__(kind, "__getattribute__", read)
        try:
            yield
        finally:
            if own is ABSENT:
                type.__delattr__(kind, "__getattribute__")
            else:
                type.__setattr__(kind, "__getattribute__", own)
            after = attributes_of(instance)
            for name, value in after.items():
                if value is not before.get(name, ABSENT) and name not in filled:
                    reads.pop(name, None)
        held = (name for name in places if snapshot.is_traced(after.get(name)))
        if not is_inlined and (traced := next(held, None)) is not None:
            snapshot.put_back()
            owner, span = type(instance).__qualname__, _span(places[traced])
            raise TracedAttributeError(attribute=traced, owner=owner, span=span)


def _is_still(instance: Any, name: str, before: dict[str, Any]) -> bool:
    """Whether an attribute is what it was; also if it was absent, and no class computes it."""
    stored = stored_in(instance)
    if name in stored or name not in before:
        absent = ABSENT if not hasattr(type(instance), name) else None
        return stored.get(name, ABSENT) is before.get(name, absent)
    try:
        return object.__getattribute__(instance, name) is before[name]
    except AttributeError:
        return before[name] is ABSENT


def _span(place: tuple[CodeType, int]) -> Span | None:
    code, line = place
    is_of_user = is_user_file(code.co_filename)
    return Span(code.co_filename, line, code.co_qualname) if is_of_user else None


def watched_self(function: Callable[..., Any]) -> WatchedSelf | None:
    """The object behind a bound method or a callable object of the user's; None for functions."""
    instance, method = function, type(function).__call__
    if isinstance(function, MethodType):
        instance, method = function.__self__, function.__func__
    if isinstance(instance, type) or not isinstance(method, FunctionType):
        return None
    return WatchedSelf(instance) if is_user_file(method.__code__.co_filename) else None
