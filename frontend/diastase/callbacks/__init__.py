"""Python called from compiled programs when they run: for values, for side effects, elsewhere.

All of it is JAX's own callbacks, with Catalyst's names: a program is traced with an equation of
JAX's, which is lowered to a host call. Outside of a trace the functions are called as they are.
"""
