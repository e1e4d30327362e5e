"""Waiting operations to stages over chunks of the state, and these run."""
