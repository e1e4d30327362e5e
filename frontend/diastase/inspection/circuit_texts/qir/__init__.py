"""Circuits as QIR 2.0, the QIR Alliance's use of LLVM IR: what `f.qir` gives.

In: the statements of a circuit. Out: a module with one entry point. The base profile where a
circuit is gates and measurements at its end, else the adaptive one, with flags for what it needs
beyond branches on outcomes.

    gates       -> calls of `__quantum__qis__*`       `instructions`
    statements  -> basic blocks in SSA form           `blocks`
    the module  -> text                               `export`
"""
