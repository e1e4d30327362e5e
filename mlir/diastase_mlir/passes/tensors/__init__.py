"""Passes before arrays are memory."""
