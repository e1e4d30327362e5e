"""Catalyst's surface, as its users see it: names, signatures, options, exceptions.

`record.py` writes what Catalyst has into `recorded.json`, run in an environment with Catalyst; the
tests here compare.
"""
