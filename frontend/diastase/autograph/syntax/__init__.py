"""Rewriting of syntax trees: malt's converters in their order, and those that it has not.

In: the tree of one function, each node with its place in the user's file (`ORIGIN`). Out: a tree
in which control flow, calls, `and`, `or`, `not`, comparisons, assertions and item assignment call
`ag__`, which `operators` provides; `return`, `break` and `continue` are flags and guards by then.

Before malt's analyses, `Normalised` writes out what these do not know: assignments of several
targets, a function's end as `return None`, private names. `Generators` are Python's, as they are.

The trap: malt copies nodes and drops their line numbers; only what stands in `ORIGIN` survives.
"""

from diastase.autograph.syntax.generators import Generators
from diastase.autograph.syntax.normalised import Normalised
from diastase.autograph.syntax.origins import note_origins, restore_origins
from diastase.autograph.syntax.rewriting import rewritten

__all__ = ["Generators", "Normalised", "note_origins", "restore_origins", "rewritten"]
