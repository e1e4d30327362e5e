"""Engines that are exchanged while programs are loaded, and while they run."""

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pennylane as qml
import pytest

from diastase import profile, qjit
from diastase_engine import engine_library
from diastase_engine.libraries import build
from diastase_runtime import Executable, exchange_engine, libraries
from diastase_runtime.abi import CALLED_BY_THE_LOADER


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    monkeypatch.setattr(libraries, "_better", {})


@pytest.fixture
def little(tmp_path) -> Path:
    """An engine of little more than these programs call, with smaller tiles than the whole one."""
    called = {*CALLED_BY_THE_LOADER, "state_create", "gate", "expval_pauli"}
    build.engine_in_parts().build(called, tmp_path / "little.so")
    return tmp_path / "little.so"


def of_circuit(turn):
    """Load a circuit of RX(turn(x)), whose expectation is cos(turn(x))."""

    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(x):
        qml.RX(0.0 * x, wires=1)
        qml.RX(turn(x), wires=0)
        qml.CNOT(wires=[0, 1])
        return qml.expval(qml.Z(1))

    compiled = circuit.trace(0.5).lower().compile()
    functions = [callback.function for callback in compiled.module.callbacks]
    artifact = compiled.direct_call.executable.artifact

    def with_engine(engine: Path) -> Executable:
        return Executable(replace(artifact, engine=engine), functions)

    return with_engine


def test_loaded_programs_take_the_better_engine(little):
    with_engine = of_circuit(lambda x: x)
    program = with_engine(little)
    assert program([np.array(0.5)])[0] == pytest.approx(np.cos(0.5), abs=1e-14)
    before = program.entry_address
    exchange_engine(little, engine_library())
    assert program.entry_address != before
    assert program([np.array(0.5)])[0] == pytest.approx(np.cos(0.5), abs=1e-14)
    assert program.work.gates == 3
    entry = program.entry_address
    exchange_engine(little, engine_library())
    assert program.entry_address == entry
    assert with_engine(little)([np.array(0.7)])[0] == pytest.approx(np.cos(0.7), abs=1e-14)


def test_a_call_that_goes_on_ends_with_the_engine_it_began_with(little):
    """Their states differ: a queue that one has written the other cannot read."""
    reached, goes_on = threading.Event(), threading.Event()

    def wait(x):
        reached.set()
        assert goes_on.wait(60)
        return x

    def turn(x):
        return jax.pure_callback(wait, jax.ShapeDtypeStruct((), float), x)

    program = of_circuit(turn)(little)
    results = []
    call = threading.Thread(target=lambda: results.append(program([np.array(0.5)])))
    call.start()
    assert reached.wait(60)
    exchange_engine(little, engine_library())
    goes_on.set()
    call.join(60)
    results.append(program([np.array(0.5)]))
    np.testing.assert_allclose(results, [[np.cos(0.5)]] * 2, atol=1e-14)


def test_observers_see_calls_with_the_better_engine(little):
    program = of_circuit(lambda x: x)(little)
    with profile() as seen:
        exchange_engine(little, engine_library())
        program([np.array(0.5)])
    assert seen.programs["circuit"].calls == 1
    assert program([np.array(0.5)])[0] == pytest.approx(np.cos(0.5), abs=1e-14)


def test_a_program_whose_file_is_gone_keeps_its_engine(little, tmp_path):
    loaded = of_circuit(lambda x: x)(little).artifact
    library = Path(shutil.copy(loaded.library, tmp_path / "program.so"))
    program = Executable(replace(loaded, library=library))
    library.unlink()
    before = program.entry_address
    exchange_engine(little, engine_library())
    assert program.entry_address == before
    assert program([np.array(0.5)])[0] == pytest.approx(np.cos(0.5), abs=1e-14)


@pytest.mark.parametrize("damage", ["changed", "gone"])
def test_an_engine_that_cannot_be_loaded_is_not_taken_instead(little, tmp_path, damage):
    with_engine = of_circuit(lambda x: x)
    program, better = with_engine(little), tmp_path / f"whole-{'0' * 16}.so"
    if damage == "changed":
        better.write_bytes(b"no library")
    before = program.entry_address
    exchange_engine(little, better)
    assert not better.exists()
    assert program.entry_address == before
    for each in (program, with_engine(little)):
        assert each([np.array(0.5)])[0] == pytest.approx(np.cos(0.5), abs=1e-14)
