"""Derivatives and batches of loops and branches."""
