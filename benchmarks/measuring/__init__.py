"""The runner: cases and targets, environments and workers, rounds, results, tables and plots."""
