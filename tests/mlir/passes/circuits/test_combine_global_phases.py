"""Global phases become one for each block."""

import jax.numpy as jnp
import pennylane as qml

from diastase import for_loop


def test_one_for_each_block(left_by, when):
    def circuit(x):
        qml.GlobalPhase(0.3)
        qml.H(0)
        qml.GlobalPhase(x)

        @for_loop(0, 3, 1)
        def loop(i):
            qml.GlobalPhase(x)
            qml.RX(x, i)
            qml.GlobalPhase(2 * x)
            when(x > i, lambda: (qml.GlobalPhase(0.2), qml.GlobalPhase(-0.2)))

        loop()
        qml.GlobalPhase(1.5)
        return qml.state()

    left = left_by("combine_global_phases", circuit, jnp.asarray(0.7))
    assert left == ["Hadamard", "RX", "global_phase", "global_phase"]


def test_under_controls_a_phase_is_a_gate(left_by):
    def circuit(x):
        qml.H(0)
        qml.ctrl(qml.GlobalPhase(x), 0)
        qml.GlobalPhase(0.1)
        qml.GlobalPhase(x)
        return qml.state()

    assert left_by("combine_global_phases", circuit, 0.4)[-1] == "global_phase"
