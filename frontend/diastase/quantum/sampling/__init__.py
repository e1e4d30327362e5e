"""Measurements with shots: from the processes that a QNode returns to statistics of its shots.

In two steps, so that shots may be drawn in one run of the circuit or in one run each:
`Requests` gathers, in the circuit, what all measurements need, and records how it is drawn;
each measurement is then a function of the `Shots`, classical code that is the same for both.
"""
