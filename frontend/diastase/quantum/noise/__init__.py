"""Noise: channels of PennyLane's, by their Kraus operators."""
