"""The C functions of the library that sorts: name in the import table -> kernel."""

from diastase_engine.sorting.lines import scratch_size, sort_lines
from diastase_engine.threads.loops import use_threads

EXPORTS = {
    "use_threads": use_threads,
    "scratch_size": scratch_size,
    "sort_lines": sort_lines,
}
