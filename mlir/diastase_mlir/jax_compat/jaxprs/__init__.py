"""Jaxprs: the equations in them, jaxprs made of others, what is inlined into them, their text."""
