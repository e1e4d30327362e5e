"""Nested arguments and results without JAX, which nests and orders them in the same way.

A structure is hashable data: `LEAF`, or a tuple of a kind, what is known of the node, and the
structures of its children. `flatten` finds it, and the leaves; `builder` makes the function that
puts leaves in their places. Tuples, named tuples, lists, dictionaries (by sorted keys) and None are
nodes; all else is a leaf, also what JAX was told to take apart: files know no classes of users.

`Counts` of circuits are nodes of results only: they come out as dictionaries or as arrays.

The trap: a named tuple is known by its name and its fields. What comes out is of a class made for
it, which is not the user's, unless `builder` is given the classes.
"""

from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from diastase_runtime.arrays.counts import CountsForm, Found

LEAF = "*"
NONE = ("none",)
Structure = Any
"""`LEAF`, `NONE`, `("tuple", children)`, `("list", children)`, `("dict", keys, children)`,
`("namedtuple", name, fields, children)` or `("counts", form, width, all_outcomes, children)`."""
Build = Callable[[Iterator[Any]], Any]


def flatten(value: Any, leaves: list[Any]) -> Structure:
    """The structure of a value, whose leaves are appended to a list."""
    if value is None:
        return NONE
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        named: Any = value
        name, fields = type(named).__name__, tuple(named._fields)
        return ("namedtuple", name, fields, _children(named, leaves))
    kind = type(value)
    if kind is tuple or kind is list:
        return (kind.__name__, _children(value, leaves))
    if kind is dict:
        keys = tuple(sorted(value))
        return ("dict", keys, _children([value[key] for key in keys], leaves))
    leaves.append(value)
    return LEAF


def _children(values: Sequence[Any], leaves: list[Any]) -> tuple[Structure, ...]:
    return tuple([flatten(value, leaves) for value in values])


def builder(
    structure: Structure, classes: Sequence[Callable[..., Any]] = ()
) -> Callable[[Sequence[Any]], Any]:
    """Make the function from leaves to a value of this structure.

    `classes` are those of its named tuples, in the order in which they begin.
    """
    build = _builder(structure, iter(classes))
    return lambda leaves: build(iter(leaves))


def _builder(structure: Structure, classes: Iterator[Callable[..., Any]]) -> Build:
    if structure == LEAF:
        return next
    if structure == NONE:
        return lambda leaves: None
    named = _class(structure, classes)
    children = [_builder(child, classes) for child in structure[-1]]
    match structure:
        case ("tuple", _):
            return lambda leaves: tuple([child(leaves) for child in children])
        case ("list", _):
            return lambda leaves: [child(leaves) for child in children]
        case ("dict", keys, _):
            return lambda leaves: {
                key: child(leaves) for key, child in zip(keys, children, strict=True)
            }
        case ("namedtuple", *_):
            return lambda leaves: named(*[child(leaves) for child in children])
        case ("counts", form, width, all_outcomes, _):
            return _counts_builder(form, width, all_outcomes, children)
        case _:
            raise ValueError(f"no structure: {structure!r}")


def _class(structure: Structure, classes: Iterator[Callable[..., Any]]) -> Callable[..., Any]:
    """Of a named tuple: the next one that is known, or one that is made for it."""
    if structure[0] != "namedtuple":
        return tuple
    _, name, fields, _ = structure
    return next(classes, None) or _named_tuple(name, fields)


@cache
def _named_tuple(name: str, fields: tuple[str, ...]) -> Callable[..., Any]:
    kind: Any = namedtuple(name, fields)  # pyright: ignore[reportUntypedNamedTuple]
    # Its class is found by no name: other processes make it again.
    kind.__reduce__ = lambda self: (_made_again, (name, fields, tuple(self)))
    return kind


def _made_again(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return _named_tuple(name, fields)(*values)


def _counts_builder(
    form: CountsForm, width: int | None, all_outcomes: bool, children: Sequence[Build]
) -> Build:
    def build(leaves: Iterator[Any]) -> Any:
        outcomes, numbers, traced_width = [child(leaves) for child in children]
        found = Found(outcomes, numbers, width, all_outcomes, traced_width)
        return found.to_dict() if form == "dict" else found.to_arrays()

    return build


def leaf_names(name: str, structure: Structure) -> list[str]:
    """`result['y'][0]` for each leaf, in order."""
    if structure == LEAF:
        return [name]
    if structure == NONE:
        return []
    match structure:
        case ("dict", keys, children):
            places = [f"[{key!r}]" for key in keys]
        case ("namedtuple", _, fields, children):
            places = [f".{field}" for field in fields]
        case (_, children) | ("counts", _, _, _, children):
            places = [f"[{number}]" for number in range(len(children))]
        case _:
            raise ValueError(f"no structure: {structure!r}")
    pairs = zip(places, children, strict=True)
    return [leaf for place, child in pairs for leaf in leaf_names(f"{name}{place}", child)]


def to_json(structure: Structure) -> Any:
    """What JSON says of a structure."""
    if structure in (LEAF, NONE):
        return structure if structure == LEAF else None
    kind, *known, children = structure
    return [kind, *map(value_to_json, known), list(map(to_json, children))]


def from_json(data: Any) -> Structure:
    """The structure again; raises ValueError or TypeError for anything else."""
    if data is None or data == LEAF:
        return LEAF if data else NONE
    kind, *known, children = data
    if (kind, len(known)) not in _KNOWN:
        raise ValueError(f"no structure: {data!r}")
    return (kind, *map(value_from_json, known), tuple(map(from_json, children)))


_KNOWN = {("tuple", 0), ("list", 0), ("dict", 1), ("namedtuple", 2), ("counts", 3)}
"""Kinds of nodes, and how much is known of them besides their children."""


def value_to_json(value: Any) -> Any:
    """What JSON says of a key, or of a static value; raises TypeError where it has no words."""
    if type(value) is tuple:
        return {"tuple": list(map(value_to_json, value))}
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise TypeError(type(value).__qualname__)


def value_from_json(data: Any) -> Any:
    """The value again."""
    return tuple(map(value_from_json, data["tuple"])) if isinstance(data, dict) else data
