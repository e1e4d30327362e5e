"""The density-matrix engine: registers that noise acts on, written in the kernel language.

A density matrix rho of n wires is kept in the *Pauli basis*: the 4^n real numbers r[P] = Tr(P rho)
for all Pauli words P, so `rho = 2^-n sum r[P] P`. That it is Hermitian needs no care, a gate or a
channel is a real matrix on the digits of its wires (a *transfer matrix*), and the expectation value
of a word is one number. States, checks and outcomes are the state-vector engine's.
"""
