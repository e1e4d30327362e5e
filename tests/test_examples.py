"""The examples that train run, in short form: each prints its losses and draws its plot."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, folder, *options):
    """The lines that an example prints."""
    pytest.importorskip("optax")
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--folder", str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pictures = [*folder.glob(f"{name}*.png")]
    assert pictures
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    return done.stdout


def numbers(pattern, text):
    return [float(number) for number in re.findall(pattern, text)]


@pytest.mark.thorough
def test_lih_vqe(tmp_path):
    printed = run("lih_vqe", tmp_path, "--steps", "6")
    energies = numbers(r"step +\d+: (\S+) Ha", printed)
    final, exact = numbers(r"(-\d+\.\d+) Ha", printed)[-2:]
    assert len(energies) == 7
    assert exact == pytest.approx(-7.88245355, abs=1e-6)
    assert exact < final < energies[0] - 0.01


@pytest.mark.thorough
def test_qaoa_maxcut(tmp_path):
    printed = run("qaoa_maxcut", tmp_path, "--steps", "6", "--nodes", "8", "--layers", "3")
    cuts = numbers(r"expected cut (\d+\.\d+)", printed)
    (sampled,), (largest,) = (
        numbers(pattern, printed) for pattern in (r"samples (\d+)", r"trying all (\d+)")
    )
    assert cuts[0] + 0.1 < cuts[-1] < largest
    assert sampled == largest


@pytest.mark.thorough
def test_digits_classifier(tmp_path):
    pytest.importorskip("sklearn")
    printed = run("digits_classifier", tmp_path, "--steps", "6", "--layers", "1")
    losses = numbers(r"step +\d+: loss (\S+)", printed)
    assert losses[-1] < losses[0]
    assert len(numbers(r"(\d+\.\d)%", printed)) == 2


@pytest.mark.thorough
def test_noise(tmp_path):
    printed = run("noise", tmp_path, "--qubits", "3", "--points", "3", "--trajectories", "300")
    fidelities = numbers(r"fidelity (\S+),", printed)
    assert fidelities[0] == pytest.approx(1)
    assert fidelities[-1] < 0.8
    exact, noisy, mitigated = (
        numbers(rf"{name} (-\d+\.\d+)", printed)[-1] for name in ("exact", "noisy", "extrapolated")
    )
    assert abs(mitigated - exact) < 0.5 * abs(noisy - exact)
    assert len([*tmp_path.glob("noise_*.png")]) == 2


@pytest.mark.thorough
def test_sweep_cluster(tmp_path):
    pytest.importorskip("distributed")
    printed = run("sweep_cluster", tmp_path, "--points", "5", "--spins", "4")
    assert "25 points of 4 spins on the cluster" in printed
    ordered, disordered = numbers(r"corner (\S+?),?\s", printed)
    assert ordered > 0.8 > 0.2 > abs(disordered)
