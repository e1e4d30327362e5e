"""Memory of compiled code: aligned memory, and a way out of the program where it cannot go on.

Loops over arrays are vectorised only where it is known that what they write is not what they read.
So the aligned address inside of an allocation is not computed as a number, which would hide where
it comes from, but by `llvm.ptrmask`; and the arrays among the entry's arguments are `noalias`:
nothing writes to them, and what the program allocates is apart from them. (`aligned_alloc` would be
simpler, but what it cuts off a block makes the block too small for the next call's equal array, so
large results would have new pages from the system again and again.)

Linux grants more memory than there is, and kills the process when it is used. So an array that is
larger than what the process can have (`CallContext.memory`) is refused before the system is asked.

Nothing that is compiled checks for a null pointer, so an allocation that fails must not return.
The entry notes where to escape to (`_setjmp`, in a frame on its stack, found through a
thread-local pointer); a failing allocation records `OUT_OF_MEMORY` and jumps there, as does
`abi.LEAVE_FUNCTION` with whatever error is recorded. Results are not written then: `detail[3]`
says so. (Quantum states are not lost: the call context knows them, and the loader releases them.)

What a program has allocated by then is lost, unless it can fail in this way in its course by
`abi.ABANDON_FUNCTION`: such a program keeps a list of what it has allocated and not freed, and
frees that on its way out (`_TRACKING`). The list is an array of pointers, in no order, with its
length and capacity in the frame that the entry keeps on its stack, at byte 528. Buffers are freed
soon after they were allocated, mostly, so the search from the end is short; how many live at once
is bounded by the text of the program. Results are on the list until the call ends, and are the
caller's from there.

Elements of a batch run on any thread, each in a call of its own (`passes/element_loops`). Their
entries are wrapped as the program's is: an element that is abandoned ends alone.

In: LLVM IR text in which `finalize-memref-to-llvm{use-generic-functions}` calls
`_mlir_memref_to_llvm_alloc` and `…_free`, and the entry of `abi.ENTRY_SYMBOL`. Out: the same with
these functions defined and the entry wrapped, which takes its pointers in an array.
"""

import re

from diastase_runtime.abi import (
    ABANDON_FUNCTION,
    AFTER_ELEMENTS,
    ELEMENT_ENTRY,
    ELEMENT_FUNCTION,
    ENTRY_SYMBOL,
    LEAVE_FUNCTION,
    CallContext,
    ErrorCode,
)

_DECLARATIONS = re.compile(
    rf"^declare [^\n]*@(?:_mlir_memref_to_llvm_\w+|malloc|free|{LEAVE_FUNCTION}|{ABANDON_FUNCTION}"
    rf"|{AFTER_ELEMENTS})"
    r"\([^\n]*\n",
    re.M,
)
_END = r"(?:, !dbg !\d+)?\n"  # of an instruction, which may have a location (`debug_lines`)
_ALIGNED = re.compile(
    rf"(?P<before>  (?P<number>%\d+) = ptrtoint ptr (?P<memory>%\d+) to i64{_END}"
    rf"  (?P<last>%\d+) = add i64 (?P=number), (?P<rest>\d+){_END}"
    rf"  (?P<over>%\d+) = urem i64 (?P=last), (?P<alignment>\d+){_END}"
    rf"  (?P<address>%\d+) = sub i64 (?P=last), (?P=over){_END})"
    rf"  %(?P<result>\d+) = inttoptr i64 (?P=address) to ptr{_END}"
)
_PROGRAM = re.compile(r"^define (?P<type>[^\n@]*)@diastase_entry\([^)]*\)", re.M)
_ENTRY = re.compile(rf"^define void @{ENTRY_SYMBOL}\((?P<parameters>[^)]*)\)", re.M)
_ELEMENT = re.compile(
    rf"^(?P<before>define [^\n@]*)@(?P<name>{ELEMENT_FUNCTION}\d+{ELEMENT_ENTRY})\(", re.M
)
_OFFSETS = {name: getattr(CallContext, name).offset for name in ("site", "detail", "memory")}
_LARGE = 1 << 26
"""Bytes; only of arrays beyond it is it asked whether they can be had at all."""


def failing_function(name: str, code: ErrorCode, detail: str) -> str:
    """A function that records an error with a detail, if it is the call's first, and leaves."""
    return f"""\
define internal void @{name}({detail}) noinline noreturn cold {{
  %frame = load ptr, ptr @diastase_escape
  %context = load ptr, ptr %frame
  %code = load i64, ptr %context
  %first = icmp eq i64 %code, {ErrorCode.NONE:d}
  br i1 %first, label %record, label %escape
record:
  store i64 {code:d}, ptr %context
  %site = getelementptr i8, ptr %context, i64 {_OFFSETS["site"]}
  store i64 -1, ptr %site
  %detail = getelementptr i8, ptr %context, i64 {_OFFSETS["detail"]}
  store {detail}, ptr %detail
  br label %escape
escape:
  call void @{ABANDON_FUNCTION}()
  unreachable
}}
"""


_DEFINITIONS = f"""
declare noalias ptr @malloc(i64) #9999
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
declare void @free(ptr allocptr) nounwind allockind("free") "alloc-family"="malloc"
attributes #9999 = {{
  nounwind allockind("alloc,uninitialized") allocsize(0) "alloc-family"="malloc"
}}
declare i32 @_setjmp(ptr) returns_twice nounwind
declare void @longjmp(ptr, i32) noreturn nounwind

@diastase_escape = internal thread_local global ptr null

define internal noalias ptr @_mlir_memref_to_llvm_alloc(i64 %size) alwaysinline {{
  %empty = icmp eq i64 %size, 0
  %nonzero = select i1 %empty, i64 1, i64 %size
  %large = icmp ugt i64 %nonzero, {_LARGE}
  br i1 %large, label %check, label %allocate
check:
  %fits = call i1 @diastase_fits(i64 %nonzero)
  br i1 %fits, label %allocate, label %escape
allocate:
  %memory = call ptr @malloc(i64 %nonzero)
  %failed = icmp eq ptr %memory, null
  br i1 %failed, label %escape, label %done, !prof !{{!"branch_weights", i32 1, i32 1000000}}
escape:
  call void @diastase_out_of_memory(i64 %size)
  unreachable
done:
  call void @diastase_track(ptr %memory)
  ret ptr %memory
}}

define internal void @_mlir_memref_to_llvm_free(ptr %memory) alwaysinline {{
  call void @diastase_untrack(ptr %memory)
  call void @free(ptr %memory)
  ret void
}}

define internal i1 @diastase_fits(i64 %size) noinline cold {{
  %frame = load ptr, ptr @diastase_escape
  %context = load ptr, ptr %frame
  %memory = getelementptr i8, ptr %context, i64 {_OFFSETS["memory"]}
  %most = load i64, ptr %memory
  %less = sub i64 %most, 1
  %fits = icmp ule i64 %size, %less
  ret i1 %fits
}}

{failing_function("diastase_out_of_memory", ErrorCode.OUT_OF_MEMORY, "i64 %size")}
define internal void @{LEAVE_FUNCTION}() noinline noreturn cold {{
  %frame = load ptr, ptr @diastase_escape
  %context = load ptr, ptr %frame
  %abandoned = getelementptr i8, ptr %context, i64 {_OFFSETS["detail"] + 3 * 8}
  store i64 1, ptr %abandoned
  %jump = getelementptr i8, ptr %frame, i64 16
  call void @longjmp(ptr %jump, i32 1)
  unreachable
}}
"""


_LIST = """
  %frame = load ptr, ptr @diastase_escape
  %list_at = getelementptr i8, ptr %frame, i64 528
  %count_at = getelementptr i8, ptr %frame, i64 536
  %capacity_at = getelementptr i8, ptr %frame, i64 544
  %list = load ptr, ptr %list_at
  %count = load i64, ptr %count_at"""

_TRACKING = f"""
declare ptr @realloc(ptr, i64)

define internal void @diastase_track(ptr %memory) noinline {{{_LIST}
  %capacity = load i64, ptr %capacity_at
  %full = icmp eq i64 %count, %capacity
  br i1 %full, label %grow, label %append
grow:
  %doubled = shl i64 %capacity, 1
  %more = add i64 %doubled, 16
  %bytes = shl i64 %more, 3
  %grown = call ptr @realloc(ptr %list, i64 %bytes)
  %failed = icmp eq ptr %grown, null
  br i1 %failed, label %escape, label %moved
escape:
  call void @free(ptr %memory)
  call void @diastase_out_of_memory(i64 %bytes)
  unreachable
moved:
  store ptr %grown, ptr %list_at
  store i64 %more, ptr %capacity_at
  br label %append
append:
  %to = phi ptr [ %list, %0 ], [ %grown, %moved ]
  %slot = getelementptr ptr, ptr %to, i64 %count
  store ptr %memory, ptr %slot
  %next = add i64 %count, 1
  store i64 %next, ptr %count_at
  ret void
}}

define internal void @diastase_untrack(ptr %memory) noinline {{{_LIST}
  br label %search
search:
  %end = phi i64 [ %count, %0 ], [ %place, %compare ]
  %none = icmp eq i64 %end, 0
  br i1 %none, label %done, label %compare
compare:
  %place = sub i64 %end, 1
  %slot = getelementptr ptr, ptr %list, i64 %place
  %candidate = load ptr, ptr %slot
  %found = icmp eq ptr %candidate, %memory
  br i1 %found, label %remove, label %search
remove:
  %last = sub i64 %count, 1
  %last_slot = getelementptr ptr, ptr %list, i64 %last
  %moved = load ptr, ptr %last_slot
  store ptr %moved, ptr %slot
  store i64 %last, ptr %count_at
  br label %done
done:
  ret void
}}

define internal void @diastase_forget_tracked() noinline {{{_LIST}
  call void @free(ptr %list)
  ret void
}}

define internal void @{ABANDON_FUNCTION}() noinline noreturn cold {{{_LIST}
  br label %search
search:
  %end = phi i64 [ %count, %0 ], [ %place, %free ]
  %none = icmp eq i64 %end, 0
  br i1 %none, label %leave, label %free
free:
  %place = sub i64 %end, 1
  %slot = getelementptr ptr, ptr %list, i64 %place
  %memory = load ptr, ptr %slot
  call void @free(ptr %memory)
  br label %search
leave:
  call void @{LEAVE_FUNCTION}()
  unreachable
}}
"""

_NOT_TRACKING = f"""
define internal void @diastase_track(ptr %memory) alwaysinline {{
  ret void
}}
define internal void @diastase_untrack(ptr %memory) alwaysinline {{
  ret void
}}
define internal void @diastase_forget_tracked() alwaysinline {{
  ret void
}}
define internal void @{ABANDON_FUNCTION}() noinline noreturn cold {{
  call void @{LEAVE_FUNCTION}()
  unreachable
}}
"""


_AFTER_ELEMENTS = f"""
define internal void @{AFTER_ELEMENTS}(ptr %context) {{
  %code = load i64, ptr %context
  %failed = icmp ne i64 %code, {ErrorCode.NONE:d}
  br i1 %failed, label %look, label %done
look:
  %detail = getelementptr i8, ptr %context, i64 {_OFFSETS["detail"] + 3 * 8}
  %abandoned = load i64, ptr %detail
  %leave = icmp ne i64 %abandoned, 0
  br i1 %leave, label %abandon, label %done
abandon:
  call void @{ABANDON_FUNCTION}()
  unreachable
done:
  ret void
}}
"""
"""Where an element has abandoned its call: abandon the call around it."""


def with_memory(text: str, *, returns: bool) -> str:
    """Define the allocation functions and wrap the entry; `returns`: it takes a results pointer."""
    tracking = _TRACKING if f"call void @{ABANDON_FUNCTION}()" in text else _NOT_TRACKING
    text = _ALIGNED.sub(_aligned, _DECLARATIONS.sub("", text))
    program = _PROGRAM.search(text)
    assert program is not None, "the pipeline always leaves an entry"
    text = _PROGRAM.sub(_with_noalias, text, count=1)
    text, elements = _with_elements(text)
    entry = _ENTRY.search(text)
    assert entry is not None, "the pipeline always leaves an entry"
    count = entry["parameters"].count("ptr")
    pointers = [f"ptr %pointer.{number}" for number in range(count)]
    if returns and program["type"].strip() == "void":  # `passes.llvm.results_in_memory`
        pointers = [*pointers[1:], pointers[0]]
    parameters = ", ".join(pointers)
    loads = "\n".join(map(_load, range(count)))
    # ENTRY_SYMBOL occurs once: nothing inside the program calls its own C interface.
    text = text.replace(f"@{ENTRY_SYMBOL}(", "@diastase_program(", 1)
    return (
        text
        + _DEFINITIONS
        + tracking
        + _with_escape(
            f"define void @{ENTRY_SYMBOL}(ptr %pointers)",
            f"{loads}\n",
            f"ptr %pointer.{int(returns)}",
            f"@diastase_program({parameters})",
        )
        + elements
    )


def _with_escape(head: str, loads: str, context: str, call: str) -> str:
    """A function that calls another, to which the program escapes from within it."""
    return f"""
{head} {{
{loads}  %frame = alloca [560 x i8], align 16
  %tracked = getelementptr i8, ptr %frame, i64 528
  store <3 x i64> zeroinitializer, ptr %tracked, align 16
  %outer = load ptr, ptr @diastase_escape
  store {context}, ptr %frame
  %saved = getelementptr i8, ptr %frame, i64 8
  store volatile ptr %outer, ptr %saved
  store ptr %frame, ptr @diastase_escape
  %jump = getelementptr i8, ptr %frame, i64 16
  %jumped = call i32 @_setjmp(ptr %jump) returns_twice
  %first = icmp eq i32 %jumped, 0
  br i1 %first, label %run, label %done
run:
  call void {call} noinline
  br label %done
done:
  call void @diastase_forget_tracked()
  %restored = load volatile ptr, ptr %saved
  store ptr %restored, ptr @diastase_escape
  ret void
}}
"""


def _with_elements(text: str) -> tuple[str, str]:
    """Elements of batches, each of which may be left by itself: the text, and what is added."""
    names = [entry["name"] for entry in _ELEMENT.finditer(text)]
    if not names:
        return text, ""
    text = _ELEMENT.sub(r"\g<before>@\g<name>_run(", text)
    parameters = "(ptr %context, ptr %memory, i64 %number)"
    entries = [
        _with_escape(f"define internal void @{name}{parameters}", "", "ptr %context",
                     f"@{name}_run{parameters}")
        for name in names
    ]  # fmt: skip
    return text, "".join([*entries, _AFTER_ELEMENTS])


def _load(number: int) -> str:
    """Load one of the pointers that the entry is called with."""
    return (
        f"  %at.{number} = getelementptr ptr, ptr %pointers, i64 {number}\n"
        f"  %pointer.{number} = load ptr, ptr %at.{number}, align 8"
    )


def _with_noalias(program: re.Match[str]) -> str:
    """Mark what the arrays among the arguments point to; the first pointer is the call context."""
    head, context, arrays = program[0].partition("(ptr %0")
    return head + context + re.sub(r"\bptr (?=%)", "ptr noalias ", arrays)


def _aligned(address: re.Match[str]) -> str:
    """Compute an aligned address from the memory's; the numbers before, of no use now, stay."""
    result = address["result"]
    return (
        f"{address['before']}"
        f"  %beyond.{result} = getelementptr i8, ptr {address['memory']}, i64 {address['rest']}\n"
        f"  %{result} = call ptr @llvm.ptrmask.p0.i64("
        f"ptr %beyond.{result}, i64 -{address['alignment']})\n"
    )
