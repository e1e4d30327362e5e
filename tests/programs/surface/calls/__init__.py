"""The tables, one file a topic."""
