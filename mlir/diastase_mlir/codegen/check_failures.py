"""Where a check of a checked build fails (`passes/buffers/failed_checks`), in LLVM IR text.

In: text that declares `abi.CHECK_FAILED_FUNCTION` and calls it with a message. Out: the same with
the function defined: it records the message's address as an error of the call, which it abandons;
the loader reads it. On a thread of the pool's, which has no call to abandon, the message is printed
and the process ends. To go on would be to read or write what is no part of the array.
"""

import re

from diastase_mlir.codegen.allocation_runtime import failing_function
from diastase_runtime.abi import (
    CHECK_FAILED_FUNCTION,
    CHECK_FAILED_ON_THREAD_FUNCTION,
    ErrorCode,
)

_NAMES = f"{CHECK_FAILED_FUNCTION}|{CHECK_FAILED_ON_THREAD_FUNCTION}"
_DECLARATIONS = re.compile(rf"^declare [^\n]*@(?:{_NAMES})\([^\n]*\n", re.M)
_FORMAT = "diastase: %s\n"

_DEFINITIONS = f"""
declare i32 @dprintf(i32, ptr, ...)
declare void @abort() noreturn
@diastase_check_format = internal constant [{len(_FORMAT) + 1} x i8] c"diastase: %s\\0A\\00"

define internal void @{CHECK_FAILED_ON_THREAD_FUNCTION}(ptr %message) noinline noreturn cold {{
  %printed = call i32 (i32, ptr, ...) @dprintf(i32 2, ptr @diastase_check_format, ptr %message)
  call void @abort()
  unreachable
}}

{failing_function(CHECK_FAILED_FUNCTION, ErrorCode.CHECK_FAILED, "ptr %message")}"""


def with_check_failures(text: str) -> str:
    """Define what failed checks call, if there are any; before `with_memory`, which it uses."""
    stripped = _DECLARATIONS.sub("", text)
    return text if stripped == text else stripped + _DEFINITIONS
