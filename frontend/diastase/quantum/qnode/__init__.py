"""Calls of QNodes, by each of the ways to run one; adjoints of quantum functions."""
