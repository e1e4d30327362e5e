"""The sweep back on a GPU."""
