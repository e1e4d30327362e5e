"""Amplitudes in the memory of a GPU: operations applied there, sums made there; see `residence`."""
