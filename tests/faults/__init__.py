"""Faults of all that diastase rests on, and what becomes of programs then: `make faults`."""
