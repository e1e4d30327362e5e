"""Adjoint differentiation of a QNode: one run and one sweep back through it."""
