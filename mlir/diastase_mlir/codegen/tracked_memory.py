"""A list of what a call has allocated and not freed, for programs that may be left in their course.

The list is an array of pointers, in no order, with its length and capacity in the frame that the
entry keeps on its stack (`codegen.allocation_runtime`), at byte 528. Buffers are freed soon after
they were allocated, mostly, so the search from the end is short; how many live at once is bounded
by the text of the program. Results are on the list until the call ends, and are the caller's from
there.

In: nothing. Out: LLVM IR text that defines what `codegen.allocation_runtime` calls.
"""

from diastase_runtime.abi import ABANDON_FUNCTION, LEAVE_FUNCTION

_LIST = """
  %frame = load ptr, ptr @diastase_escape
  %list_at = getelementptr i8, ptr %frame, i64 528
  %count_at = getelementptr i8, ptr %frame, i64 536
  %capacity_at = getelementptr i8, ptr %frame, i64 544
  %list = load ptr, ptr %list_at
  %count = load i64, ptr %count_at"""

TRACKING = f"""
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
