"""The conditions of a choice, read from how its index is computed.

`cond` and `switch` number their branches, and the number is a chain of selections:

    n = select_n p 2 1        p: branch 1, else 2 (the last one)
    m = select_n q n 0        q: branch 0, else n      ->    if q / elif p / else
"""

from dataclasses import dataclass
from typing import Any

from diastase.inspection.pictures.words import Words


@dataclass(frozen=True)
class CaseTitle:
    """What stands above a branch, and which one it is to stand."""

    text: str
    order: int


def case_titles(words: Words, index: Any, count: int) -> list[CaseTitle]:
    """The titles of so many branches, by their numbers."""
    chain, default = _chain(words, index)
    numbers = [number for _, number in chain]
    if default is None or sorted([*numbers, default]) != list(range(count)):
        return [CaseTitle(f"case {words.text(index)} = {k}", k) for k in range(count)]
    compared = [_compared(words, predicate) for predicate, _ in chain]
    whats = {what for what, _ in compared}
    if len(chain) > 1 and len(whats) == 1 and None not in whats:
        cases = {number: case for number, (_, case) in zip(numbers, compared, strict=True)}
        titles = [f"case {cases[k]}" if k in cases else "default" for k in range(count)]
        titles[0] = f"switch {words.text(whats.pop())}: {titles[0]}"
        return [CaseTitle(title, order) for order, title in enumerate(titles)]
    conditions = {
        number: CaseTitle(f"{'el' * (order > 0)}if {words.text(predicate)}", order)
        for order, (predicate, number) in enumerate(chain)
    }
    conditions[default] = CaseTitle("else", len(chain))
    return [conditions[number] for number in range(count)]


def _chain(words: Words, index: Any) -> tuple[list[tuple[Any, int]], int | None]:
    """Predicates, the first that holds counts, with their numbers; and the number of the rest."""
    chain = list[tuple[Any, int]]()
    while (made := words.origin(index)) is not None:
        if made.primitive.name == "convert_element_type":
            index = made.invars[0]
            continue
        if made.primitive.name != "select_n" or len(made.invars) != 3:
            return chain, None
        predicate, index, chosen = made.invars
        number = words.value(chosen)
        if number is None:
            return chain, None
        chain.append((predicate, int(number)))
    default = words.value(index)
    return chain, None if default is None or not chain else int(default)


def _compared(words: Words, predicate: Any) -> tuple[Any, str]:
    """What a predicate compares with a number, and with which; nothing for other predicates."""
    made = words.origin(predicate)
    if made is None or made.primitive.name != "eq" or words.value(made.invars[1]) is None:
        return None, ""
    return made.invars[0], words.text(made.invars[1])
