"""What peers leave of circuits; run by their own Python, which has no diastase.

    python peers.py < circuit.json

In: `{"wires": …, "gates": [[name, wires], …]}`. Out, as soon as they are there, lines `[what,
figure]`: versions, PyZX's T count, Catalyst's numbers of rotations by pi/8 and of their layers, or
what went wrong.
"""

import json
import sys
from fractions import Fraction
from importlib.metadata import version

_PHASES = {"T": (1, 4), "Adjoint(T)": (-1, 4), "S": (1, 2), "Adjoint(S)": (-1, 2)}
CHAINS = {
    "commuted": ["to_ppr", "commute_ppr"],
    "reduced": ["to_ppr", "commute_ppr", "reduce_t_depth"],
}


def pyzx_t_count(wires, gates):
    """Of what `full_reduce` leaves, which is how many T gates the extracted circuit has."""
    import pyzx

    circuit = pyzx.Circuit(wires)
    for name, on in gates:
        if name in _PHASES:
            circuit.add_gate("ZPhase", on[0], Fraction(*_PHASES[name]))
        else:
            circuit.add_gate({"Hadamard": "HAD", "PauliX": "NOT", "CNOT": "CNOT"}[name], *on)
    graph = circuit.to_graph()
    pyzx.full_reduce(graph)
    return pyzx.tcount(graph)


def catalyst_specs(wires, gates, passes):
    """Rotations by pi/8, and layers of them, as `ppm_specs` counts."""
    import catalyst
    import pennylane as qml

    def circuit():
        for name, on in gates:
            base = getattr(qml, name.removeprefix("Adjoint(").removesuffix(")"))
            (qml.adjoint(base) if name.startswith("Adjoint") else base)(wires=on)

    qnode = qml.QNode(circuit, qml.device("null.qubit", wires=wires))
    for name in passes:
        qnode = getattr(catalyst.passes, name)(qnode)
    stages = [("passes", ["quantum-compilation-stage"])]
    compiled = catalyst.qjit(qnode, pipelines=stages, target="mlir")
    (specs,) = catalyst.passes.ppm_specs(compiled).values()
    return specs.get("pi8_ppr", 0), specs.get("depth_pi8_ppr", 0)


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except Exception as problem:
        return f"{type(problem).__name__}: {str(problem).splitlines()[0][:300]}"


def main():
    circuit = json.load(sys.stdin)
    given = circuit["wires"], circuit["gates"]
    for name in ("pyzx", "pennylane-catalyst"):
        print(json.dumps([name, attempt(version, name)]))
    print(json.dumps(["T gates", attempt(pyzx_t_count, *given)]), flush=True)
    for label, chain in CHAINS.items():
        print(json.dumps([label, attempt(catalyst_specs, *given, chain)]), flush=True)


if __name__ == "__main__":
    main()
