"""The version of all that is here: both distributions read it from this file."""

__version__ = "0.2.0"
