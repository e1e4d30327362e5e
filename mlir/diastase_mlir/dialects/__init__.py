"""Our MLIR dialects, one module or package each, and how modules in which they may occur are read.

A dialect takes some milliseconds to load, so each is loaded when the first module names it.
"""

from diastase_mlir.bindings import CHLO, Loadable, ir, load, session, wear_out
from diastase_mlir.dialects.assembly import generic_form, short_form
from diastase_mlir.dialects.quantum import Quantum
from diastase_mlir.dialects.runtime import Runtime

_BYTECODE = b"ML\xefR"
"""What MLIR's bytecode begins with."""

DIALECTS: tuple[Loadable, ...] = (Quantum, Runtime, CHLO)
"""All that MLIR does not load by itself when it reads a module."""


def parse(source: bytes | str) -> ir.Module:
    """Read a module, given as bytecode or text, in a session, and verify it."""
    if isinstance(source, bytes) and not source.startswith(_BYTECODE):
        source = source.decode()
    if isinstance(source, str):
        source = generic_form(source)
    data = source.encode() if isinstance(source, str) else source
    # Both forms spell out the names of dialects; a name that stands for something else only costs.
    load(dialect for dialect in DIALECTS if dialect.DIALECT_NAMESPACE.encode() in data)
    wear_out(len(data))
    return ir.Module.parse(source)


def module_text(bytecode: bytes, *, with_locations: bool = False) -> str:
    """Print a module as text, which `parse` reads again."""
    with session():
        return printed(parse(bytecode), with_locations=with_locations)


def printed(
    module: ir.Module,
    *,
    with_locations: bool = False,
    generic: bool = False,
    named_arguments: bool = False,
) -> str:
    """Print a module, in a session; with `named_arguments` as the user's function names them.

    `generic`: every operation in MLIR's generic form, as tools read it that know no dialect.
    """
    text = str(
        module.operation.get_asm(
            enable_debug_info=with_locations,
            pretty_debug_info=False,
            print_generic_op_form=generic,
            use_name_loc_as_prefix=named_arguments,
        )
    )
    return text if generic else short_form(text)
