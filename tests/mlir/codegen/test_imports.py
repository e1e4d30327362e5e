"""Imported functions become stubs that call through the import table."""

from diastase_mlir.codegen.import_table import link_imports
from diastase_runtime.abi import IMPORT_TABLE, Import
from diastase_toolchain.machine_code import optimised

TEXT = """
declare noundef ptr @diastase_import__engine__state_create(ptr, i64)
declare void @_mlir_ciface_diastase_import__callback__0(ptr, i64, ptr) #0
declare double @diastase_import__engine__expval(ptr noundef, double)
declare double @sin(double)
define double @run(ptr %context) {
  %state = call ptr @diastase_import__engine__state_create(ptr %context, i64 3)
  call void @_mlir_ciface_diastase_import__callback__0(ptr %state, i64 0, ptr %context)
  %value = call double @diastase_import__engine__expval(ptr %state, double 1.0)
  %result = call double @sin(double %value)
  ret double %result
}
attributes #0 = { nounwind }
"""


def test_table_lists_imports_in_order_of_declaration():
    linked = link_imports(TEXT)
    assert linked.imports == (
        Import("engine", "state_create"),
        Import("callback", "0"),
        Import("threads", "call_back"),
        Import("engine", "expval"),
    )
    assert f"@{IMPORT_TABLE} = global [4 x ptr] zeroinitializer" in linked.text


def test_only_the_entry_and_the_table_are_visible():
    with optimised(link_imports(TEXT).text, ("run", IMPORT_TABLE)) as optimised_module:
        functions = list(optimised_module.module.functions)
        external = {function.name for function in functions if function.is_declaration}
        defined = {function.name for function in functions if not function.is_declaration}
    assert {name for name in external if not name.startswith("llvm.")} <= {"sin"}
    assert defined == {"run"}


def test_programs_without_imports_have_no_table():
    linked = link_imports("declare double @sin(double)\n")
    assert linked.imports == ()
    assert IMPORT_TABLE not in linked.text
