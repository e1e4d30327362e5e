"""Every measurement of every observable, static and traced, against `default.qubit`.

`tables.py` holds observables and measurements, `runner.py` compiles many of them in one program and
compares; `test_analytic.py` runs them without shots. `python -m measurements.report`, in `tests`,
prints how many are equal and how many refused.
"""
