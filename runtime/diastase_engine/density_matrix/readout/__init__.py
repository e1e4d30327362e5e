"""Outcomes, expectation values, and the seeds of a sweep back."""
