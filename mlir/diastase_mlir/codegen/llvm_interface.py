"""What LLVM IR text defines, without making anything of it.

In: text. Out: the types of its functions and global variables by name; whatever LLVM's parser or
verifier says against the text is an `InvalidLLVMError`.
"""

from collections.abc import Mapping

import llvmlite.binding as llvm

from diastase_toolchain.machine_code import InvalidLLVMError


def types_of_globals(text: str) -> Mapping[str, str]:
    """Types of all that the module defines: `{"f": "double (double)"}`."""
    with llvm.create_context() as context:
        try:
            with llvm.parse_assembly(text, context) as module:
                module.verify()
                return {
                    definition.name: str(definition.global_value_type)
                    for definition in (*module.functions, *module.global_variables)
                    if not definition.is_declaration
                }
        except RuntimeError as error:
            raise InvalidLLVMError(str(error)) from None
