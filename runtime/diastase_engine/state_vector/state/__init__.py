"""The layout of a state, and what all of the engine asks of it."""
