"""Channels: their Kraus matrices, their transfer matrices, and what their parameters may be."""
