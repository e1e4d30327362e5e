"""Outcomes: probabilities, samples, collapse."""
