"""Jaxprs analysed and rewritten: dependence, evaluation, reversal of loops, constant folding."""
