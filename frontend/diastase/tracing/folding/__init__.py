"""Unitary folding: circuits of the same effect with more operations, and so with more noise.

`setting` says how the QNodes that are called now are folded; `equations` folds a circuit of the
engine, as a jaxpr; `operators` one for a device that runs in Python, as the list that the running
program has filled.
"""
