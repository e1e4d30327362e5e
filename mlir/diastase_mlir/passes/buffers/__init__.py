"""Passes where arrays become memory, and on memory."""
