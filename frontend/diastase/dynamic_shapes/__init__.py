"""Sizes known only at run time: dimension expressions, their symbols, what is assumed of them."""
