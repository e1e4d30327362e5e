"""Load: many calls, many compilations, threads, processes, signals, and what a process has left."""
