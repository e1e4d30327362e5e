"""The harness finds what a wrong pass does."""

import pytest

from diastase import passes
from diastase.testing import PassCheck, PassFailure, check_pass, gates
from diastase_mlir import New

T = ("gate", ("T", None, (0,)), "plain")
PAIR = [("gate", ("Hadamard", None, (1,)), "twice"), T]


@passes.register_pass("drop_t")
def drop_t(circuit):
    for gate in circuit.gates():
        if gate.name == "T":
            circuit.erase(gate)


@passes.register_pass("t_twice")
def t_twice(circuit):
    """Right, and never done."""
    for gate in circuit.gates():
        if gate.name == "T":
            circuit.replace(gate, [New(name, [0]) for name in ("T", "T", "Adjoint(T)")])


def test_a_wrong_pass_is_found():
    with pytest.raises(PassFailure, match="results differ"):
        PassCheck("drop_t")([T], 0.3)
    check_pass("drop_t", without={"T"}, examples=3)


def test_a_phase_counts_in_a_unitary_only():
    s = ("gate", ("PauliZ", None, (0,)), "plain")

    @passes.register_pass("z_by_rz")
    def z_by_rz(circuit):
        for gate in circuit.gates():
            if gate.name == "PauliZ" and not gate.controls:
                circuit.replace(gate, [New("RZ", [0], [3.141592653589793])])

    PassCheck("z_by_rz", "state")([s], 0.3)
    with pytest.raises(PassFailure, match="results differ"):
        PassCheck("z_by_rz")([s], 0.3)


def test_costs_and_idempotence():
    PassCheck("cancel_inverses", "outcomes", True, gates)(PAIR, 0.3)
    with pytest.raises(PassFailure, match="the cost rises from"):
        PassCheck("t_twice", never_more=gates)([T], 0.3)
    with pytest.raises(PassFailure, match="a second time"):
        PassCheck("t_twice", idempotent=True)([T], 0.3)


def test_circuits_have_three_wires():
    with pytest.raises(ValueError, match="3 wires or more, not on 2"):
        check_pass("cancel_inverses", wires=2)
