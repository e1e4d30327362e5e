"""The gradient of a QNode by one run and one sweep back through it."""
