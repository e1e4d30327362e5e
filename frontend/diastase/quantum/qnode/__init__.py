"""Calls of QNodes: the body traced (`circuits`), and each of the ways to run it (`qnode`).

Shots take two steps, so that they may be drawn in one run of the circuit or in one run each:
`Requests` gathers, in the circuit, what all measurements need, and records how it is drawn;
each measurement is then a function of the `Shots`, classical code that is the same for both.
"""
