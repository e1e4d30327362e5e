"""stim, called by hand: the sampler is compiled before."""

import importlib.metadata


def prepare(program, arguments):
    circuit = dict(arguments)
    shots = circuit.pop("shots")
    sampler = program.stim_circuit(**circuit).compile_sampler()
    return lambda: sampler.sample(shots)


def versions():
    return {"stim": importlib.metadata.version("stim")}
