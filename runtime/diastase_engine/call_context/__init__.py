"""The state of one call that all libraries share: its errors, its random numbers."""
