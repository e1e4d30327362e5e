"""HEA (`hea.py`) for many sets of angles: `vmap` over the first axis."""

from programs import hea
from programs.gates import spread


def qnode(device, batch, qubits, layers, number=0):
    import pennylane as qml

    circuit, (angles,) = hea.qnode(device, qubits, layers, number=number)
    many = angles[None] + spread(batch)[:, None, None, None]

    def mapped(angles):
        # Catalyst cannot trace JAX's own.
        if qml.compiler.active_compiler() == "catalyst":
            from catalyst import vmap
        else:
            from jax import vmap
        return vmap(circuit)(angles)

    return mapped, (many,)
