"""Functions in LLVM IR that instrumented code calls, each of a sanitizer's library or of the C one.

They are in each module that calls them, internal to it. `diastase_read` and `diastase_write` take a
place, bytes and an alignment; the others are of `diastase_engine.language.guards`. What fails by
itself, not in the sanitizer, prints a line and aborts, of which AddressSanitizer shows the stack.
"""

from typing import Literal

Sanitizer = Literal["address", "threads"]

_CHECKS: dict[Sanitizer, str] = {
    "address": """
declare void @__asan_loadN(ptr, i64)
declare void @__asan_storeN(ptr, i64)
declare void @__asan_poison_memory_region(ptr, i64)
declare void @__asan_unpoison_memory_region(ptr, i64)
declare ptr @__asan_memset(ptr, i32, i64)
declare {i64, i1} @llvm.smul.with.overflow.i64(i64, i64)

define internal void @diastase_aligned(ptr %place, i64 %alignment) noinline {
  %number = ptrtoint ptr %place to i64
  %mask = sub i64 %alignment, 1
  %rest = and i64 %number, %mask
  %wrong = icmp ne i64 %rest, 0
  br i1 %wrong, label %fail, label %done
fail:
  call void @diastase_wrong(ptr @diastase_said.0, i64 %number, i64 %alignment)
  unreachable
done:
  ret void
}

define internal void @diastase_index(i64 %index, i64 %length) noinline {
  %right = icmp ult i64 %index, %length
  br i1 %right, label %done, label %fail
fail:
  call void @diastase_wrong(ptr @diastase_said.1, i64 %index, i64 %length)
  unreachable
done:
  ret void
}

define internal void @diastase_product(i64 %left, i64 %right) noinline {
  %both = call {i64, i1} @llvm.smul.with.overflow.i64(i64 %left, i64 %right)
  %wrong = extractvalue {i64, i1} %both, 1
  br i1 %wrong, label %fail, label %done
fail:
  call void @diastase_wrong(ptr @diastase_said.2, i64 %left, i64 %right)
  unreachable
done:
  ret void
}

define internal void @diastase_shift(i64 %bits) noinline {
  %right = icmp ult i64 %bits, 64
  br i1 %right, label %done, label %fail
fail:
  call void @diastase_wrong(ptr @diastase_said.3, i64 %bits, i64 64)
  unreachable
done:
  ret void
}

define internal void @diastase_wrong(ptr %said, i64 %first, i64 %second) noinline noreturn {
  %printed = call i32 (i32, ptr, ...) @dprintf(i32 2, ptr %said, i64 %first, i64 %second)
  call void @abort()
  unreachable
}

define internal void @diastase_read(ptr %place, i64 %size, i64 %alignment) noinline {
  call void @diastase_aligned(ptr %place, i64 %alignment)
  call void @__asan_loadN(ptr %place, i64 %size)
  ret void
}

define internal void @diastase_write(ptr %place, i64 %size, i64 %alignment) noinline {
  call void @diastase_aligned(ptr %place, i64 %alignment)
  call void @__asan_storeN(ptr %place, i64 %size)
  ret void
}
""",
    "threads": """
declare void @__tsan_read_range(ptr, i64)
declare void @__tsan_write_range(ptr, i64)
declare void @__tsan_func_entry(ptr)
declare void @__tsan_func_exit()
declare i64 @__tsan_atomic64_load(ptr, i32)
declare i64 @__tsan_atomic64_exchange(ptr, i64, i32)
declare i64 @__tsan_atomic64_fetch_add(ptr, i64, i32)
declare i64 @__tsan_atomic64_compare_exchange_val(ptr, i64, i64, i32, i32)
declare ptr @llvm.returnaddress(i32)

define internal void @diastase_read(ptr %place, i64 %size, i64 %alignment) alwaysinline {
  call void @__tsan_read_range(ptr %place, i64 %size)
  ret void
}

define internal void @diastase_write(ptr %place, i64 %size, i64 %alignment) alwaysinline {
  call void @__tsan_write_range(ptr %place, i64 %size)
  ret void
}
""",
}  # fmt: skip

_SAID = (
    "an access at %#lx, which is no multiple of %ld",
    "index %ld of an array of %ld elements",
    "a product that is no i64: %ld by %ld",
    "a shift by %ld bits of %ld",
)
"""With two numbers each."""

_LIBRARY = """
declare i32 @dprintf(i32, ptr, ...)
declare void @abort() noreturn
"""

_LANES = """
define internal void @diastase_read_lanes(ptr %place, i64 %lanes, i64 %size) noinline {
  br label %turn
turn:
  %left = phi i64 [ %lanes, %0 ], [ %shifted, %next ]
  %at = phi ptr [ %place, %0 ], [ %beyond, %next ]
  %bit = and i64 %left, 1
  %read = icmp ne i64 %bit, 0
  br i1 %read, label %check, label %next
check:
  call void @diastase_read(ptr %at, i64 %size, i64 1)
  br label %next
next:
  %shifted = lshr i64 %left, 1
  %beyond = getelementptr i8, ptr %at, i64 %size
  %done = icmp eq i64 %shifted, 0
  br i1 %done, label %end, label %turn
end:
  ret void
}
"""


def definitions(body: str, sanitizer: Sanitizer) -> str:
    """What instrumented text calls, as text to be added to it."""
    added = _CHECKS[sanitizer] + (_LANES if "@diastase_read_lanes" in body else "")
    if sanitizer == "address":
        added += "".join(_message(number, said) for number, said in enumerate(_SAID))
        added += "" if "@dprintf" in body else _LIBRARY
    return added


def _message(number: int, said: str) -> str:
    line = f"diastase: {said}\n"
    content = line.replace("\n", "\\0A") + "\\00"
    kind = f"[{len(line) + 1} x i8]"
    return f'@diastase_said.{number} = internal constant {kind} c"{content}"\n'
