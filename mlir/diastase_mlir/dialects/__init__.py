"""Our MLIR dialects, one module or package each, and how modules in which they may occur are read.

A dialect takes some milliseconds to load, so each is loaded when the first module names it.
"""

from diastase_mlir.bindings import CHLO, Loadable, ir, load, session, wear_out
from diastase_mlir.dialects.quantum import Quantum

DIALECTS: tuple[Loadable, ...] = (Quantum, CHLO)
"""All that MLIR does not load by itself when it reads a module."""


def parse(source: bytes | str) -> ir.Module:
    """Read a module, given as bytecode or text, in a session, and verify it."""
    data = source.encode() if isinstance(source, str) else source
    # Both forms spell out the names of dialects; a name that stands for something else only costs.
    load(dialect for dialect in DIALECTS if dialect.DIALECT_NAMESPACE.encode() in data)
    wear_out(len(data))
    return ir.Module.parse(source)


def module_text(bytecode: bytes, *, with_locations: bool = False) -> str:
    """Print a module as text."""
    with session():
        module = parse(bytecode)
        if not with_locations:
            return f"{module}"
        return str(module.operation.get_asm(enable_debug_info=True, pretty_debug_info=False))
