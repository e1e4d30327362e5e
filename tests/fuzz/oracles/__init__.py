"""What must hold of a random program, by name: as by others, and as said differently."""

from fuzz.judging import ORACLES
from fuzz.oracles import circuits, compilation, derivatives, measurements, peers, programs

__all__ = ["ORACLES", "circuits", "compilation", "derivatives", "measurements", "peers", "programs"]
