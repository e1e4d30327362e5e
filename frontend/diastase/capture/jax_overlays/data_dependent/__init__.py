"""Indexing, and results as long as the values of a program say."""
