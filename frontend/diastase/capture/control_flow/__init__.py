"""Loops and branches inside compiled functions: their bodies become regions of one equation."""
