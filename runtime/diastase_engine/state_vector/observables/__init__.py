"""Expectation values and variances, inner products."""
