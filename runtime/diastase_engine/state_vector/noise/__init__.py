"""Noise on a state vector: channels whose Kraus operators are drawn."""
