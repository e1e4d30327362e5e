"""The installed version; apart, because looking it up takes longer than most programs need."""

from importlib.metadata import version

__version__ = version("diastase")
