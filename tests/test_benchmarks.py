"""The benchmark runs, compares and notes; with diastase and `jax.jit`: no network is needed."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def run(*arguments, **environment):
    command = [sys.executable, str(BENCHMARKS), *map(str, arguments)]
    environment = os.environ | environment
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The results of two small cases, each subject in a process of its own."""
    folder = tmp_path_factory.mktemp("results")
    done = run(
        "hea-4", "scalar-call", "gradient-4", "--subjects", "diastase", "jax.jit", "qulacs",
        "--threads", 1, "--rounds", 2, "--seconds", 0.001, "--results", folder,
        DIASTASE_BENCH_QULACS_PYTHON="/no/such/python",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.thorough
def test_every_case_has_figures_of_its_subjects(measured):
    found = json.loads((measured / "partial" / "results.json").read_text())
    figures = {(f["case"], f["subject"]): f for f in found["figures"]}
    assert set(figures) == {
        ("hea-4", "diastase"),
        ("hea-4-written-out", "diastase"),
        ("scalar-call", "diastase"),
        ("scalar-call", "jax.jit"),
        ("hea-4", "qulacs"),
        ("gradient-4", "diastase"),
        ("gradient-4", "qulacs"),
    }
    assert figures.pop(("gradient-4", "qulacs"))["problem"]
    assert len(figures["gradient-4", "diastase"]["value"]) == 16
    missing = figures.pop(("hea-4", "qulacs"))
    assert missing["problem"] == "there is no interpreter /no/such/python"
    assert missing["seconds"] == []
    for figure in figures.values():
        assert len(figure["seconds"]) == 2
        assert min(figure["seconds"]) > 0
        assert (figure["problem"], figure["threads"]) == ("", 1)
    assert figures["hea-4", "diastase"]["value"] == pytest.approx(
        figures["hea-4-written-out", "diastase"]["value"]
    )
    assert figures["scalar-call", "jax.jit"]["value"] == [4.0]
    assert set(found["versions"]) == {"diastase", "jax.jit"}
    assert found["machine"]["cores"] >= 1


def test_the_table_has_ratios_and_targets(measured):
    table = (measured / "partial" / "results.md").read_text()
    (line,) = [line for line in table.splitlines() if line.startswith("| call overhead")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1] == "1"
    assert cells[2].count("/") == 2
    assert cells[3].endswith("×)")
    assert cells[4] == "≤ 10 µs"
    assert cells[5] == "yes" or cells[5].startswith("no (")
    assert "- HEA n=4 L=2, 1 thread, qulacs: there is no interpreter" in table
    assert (measured / "partial" / "targets.png").exists()


def test_the_history_has_a_line_for_the_run(measured):
    (line,) = (measured / "history.jsonl").read_text().splitlines()
    assert set(json.loads(line)["seconds"]) == {
        "hea-4/1",
        "hea-4-written-out/1",
        "scalar-call/1",
        "gradient-4/1",
    }


BESIDE = """
from measuring.cases import Beside, Case
from measuring.rounds import Figure
from measuring.rows import rows_of

targets = (Beside("a", 4, more=1.0), Beside("b", 0.5, threads=2, of_threads=1), Beside("none", 1))
cases = [Case("a", "", ""), Case("b", "", "", targets=targets)]
times = {("a", 1): 1.0, ("a", 2): 0.5, ("b", 1): 10.0, ("b", 2): 4.0}
figures = [Figure(name, "diastase", n, [seconds]) for (name, n), seconds in times.items()]
for row in rows_of(cases, figures):
    print(row.case.name, row.threads, [row.verdict(target) for target in row.targets])
"""


def test_a_target_may_name_another_case():
    done = subprocess.run(
        [sys.executable, "-c", BESIDE], capture_output=True, text=True, check=True, cwd=BENCHMARKS
    )
    assert done.stdout.splitlines() == [
        "a 1 []", "a 2 []", "b 1 [0.5, None]", "b 2 [0.75, 1.25, None]"
    ]  # fmt: skip


def test_what_got_slower_is_named(tmp_path):
    runs = [
        {"commit": "a", "seconds": {"hea-4/1": 1.0, "qft-20/1": 1.0, "shots-20/1": 1.0}},
        {"commit": "b", "seconds": {"qft-20/1": 1.0}},
        {"commit": "c", "seconds": {"hea-4/1": 1.5, "qft-20/1": 1.1, "matmul/1": 9.0}},
    ]
    (tmp_path / "history.jsonl").write_text("".join(json.dumps(r) + "\n" for r in runs))
    done = run("--regressions", "--results", tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["hea-4/1: 1 s (a) → 1.5 s (c), 1.50×"]


def test_an_unknown_case_is_refused(tmp_path):
    done = run("no-such-case", "--results", tmp_path)
    assert done.returncode == 1
    assert "no case is named no-such-case" in done.stderr
    assert "hea-20" in done.stderr


PAGE = """
Some text.

.. code-block:: python

    from catalyst import qjit

    @qjit
    def f(x):
        return 2 * x

>>> f(1.5)
Array(3., dtype=float64)

.. code-block:: python

    no_such_name

.. code-block:: console

    $ not Python

```python
y = {"of": [f(4.0)]}
```

>>> f(2.5)
Array(9.)

>>> float(np.random.rand())
0.25

>>> decomposition_rule(f)

>>> f(3.5)
Array(7...)
"""


@pytest.mark.thorough
def test_programs_of_documents_run_and_what_fails_is_listed(tmp_path):
    """Beside records of a peer that ran all of them, and printed another number."""
    (tmp_path / "page.rst").write_text(PAGE)
    results, kept = tmp_path / "documentation.out", tmp_path / "peer.json"
    peers = [
        record(),
        record(printed="Array(3.5)\n"),  # the page is right
        record(),
        record(values={"y['of'][0]": "8."}),
        record(printed="Array(4.)\n"),
        record(printed="0.5\n"),
        record(),
        record(error="CompileError: no"),
    ]
    kept.write_text(json.dumps({"page.rst": peers}))
    command = [sys.executable, str(BENCHMARKS / "documented_programs.py"), str(tmp_path)]
    command += ["--results", str(results), "--peer-records", str(kept)]
    environment = os.environ | {"DIASTASE_BENCH_CATALYST_PYTHON": "/no/such/python"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    report = results.read_text()
    assert "6 of 8 (75.0 %) of all blocks that run anywhere run here" in report
    assert "6 of 7 (85.7 %) of those" in report
    assert "page.rst:15: NameError: name 'no_such_name' is not defined" in report
    assert "page.rst:27: prints 'Array(5., dtype=float64, weak_type=True)', Catalyst" in report
    assert "same: 3 · more: 1 · random: 1 · differs: 1 · fails: 1 · later: 1" in report


def record(**known):
    """What the peer's worker says of a block that ran and left nothing."""
    return {"line": 0, "source": "", "error": None, "printed": "", "values": {}} | known


def run_scaling(*arguments):
    command = [sys.executable, str(BENCHMARKS / "compile_scaling.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.thorough
def test_how_a_family_grows_is_written(tmp_path):
    file = tmp_path / "growth.md"
    done = run_scaling("arithmetic-in", "--divide", 25, "--doublings", 1, "--file", file)
    assert done.returncode == 0, done.stderr
    lines = [line for line in file.read_text().splitlines() if "arithmetic-in-a-chain" in line]
    growth, steps = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    assert growth[1] == "10, 20"
    assert len(growth[2].split(", ")) == len(growth[4].split(", ")) == 2
    assert steps[1] == "20"
    assert steps[3].endswith(" %")
    assert "1 families" in file.read_text()
    assert growth[0] in done.stdout


def test_an_unknown_family_is_refused():
    done = run_scaling("no-such-family")
    assert done.returncode == 1
    assert "no family is named no-such-family" in done.stderr
    assert "elements-set" in done.stderr


GROWTH = """
from measuring.growth import Growth, expected

def figure(processor, bytes, **steps):
    return {"seconds": processor, "processor": processor, "bytes": bytes, "steps": steps}

MB = 10**6
slow = [figure(1, MB), figure(2, 2 * MB, optimise=0.5), figure(8, 3 * MB, optimise=4, emit=0.1)]
large = [figure(0.5, 100 * MB), figure(1, 400 * MB)]
short = [figure(0.01, 0), figure(0.2, MB)]
for figures in slow, large, short, slow[:1], []:
    growth = Growth("one", [1, 2, 4][: len(figures)], figures)
    marks = growth.too_slow, growth.too_large
    print(*marks, growth.steps_that_grow, round(expected(growth.of("processor")), 9))
print(Growth("one", [1, 2], large).least(Growth("one", [1, 2], slow)).of("processor"))
print(Growth("one", [1, 2, 4], slow).line)
"""


def test_what_grows_too_fast_is_marked():
    done = subprocess.run(
        [sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True, cwd=BENCHMARKS
    )
    assert done.stdout.splitlines() == [
        "True False [('optimise', 3.0, 4)] 32.0",
        "False True [] 2.0",
        "False False [] 4.0",
        "False False [] 2.0",
        "False False [] 0.0",
        "[0.5, 1]",
        "| one | 1, 2, 4 | 1.00, 2.00, 8.00 | 2.0 **!** | 1, 2, 3 | 0.6 | optimise 3.0 (4 s) |",
    ]


# --- circuits of Clifford+T ----------------------------------------------------------------------


@pytest.fixture
def clifford_t(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS / "clifford_t"))
    circuits, verify = import_module("circuits"), import_module("verify")

    def run_on(circuit, bits):
        """The bits that a circuit makes of bits."""
        state = np.zeros((2,) * circuit.wires, complex)
        state[tuple(bits)] = 1
        found = abs(verify.applied(circuit, state))
        assert found.max() == pytest.approx(1)
        return [int(bit) for bit in np.unravel_index(found.argmax(), found.shape)]

    yield circuits, run_on
    del sys.modules["circuits"], sys.modules["verify"]


def bits_of(number, count):
    return [number >> place & 1 for place in range(count)]


def number_of(bits):
    return sum(bit << place for place, bit in enumerate(bits))


def test_circuits_of_the_literature_have_the_published_t_counts(clifford_t):
    circuits, _ = clifford_t
    for name, circuit in circuits.all_circuits().items():
        assert circuit.t_count == circuits.PUBLISHED[name], name


def test_they_compute_what_they_are_defined_to(clifford_t):
    circuits, run_on = clifford_t
    for number in range(16):
        assert run_on(circuits.mod5_4(), [*bits_of(number, 4), 0])[4] == (number % 5 == 0)
        for circuit, auxiliary in ((circuits.tof(4), [0, 0]), (circuits.barenco_tof(4), [1, 0])):
            bits = [*bits_of(number, 4), *auxiliary, 1]
            assert run_on(circuit, bits) == [*bits[:-1], int(number != 15)]
    for a, b in ((5, 3), (7, 7), (0, 6), (4, 5)):
        interleaved = [
            bit for pair in zip(bits_of(a, 3), bits_of(b, 3), strict=True) for bit in (0, *pair)
        ]
        found = run_on(circuits.vbe_adder(3), [*interleaved, 0])
        assert number_of([*found[2:9:3], found[9]]) == a + b
        assert (found[1:8:3], found[0:7:3]) == (bits_of(a, 3), [0, 0, 0])
    for a, b in ((43, 29), (63, 63), (17, 40)):
        interleaved = [
            bit for pair in zip(bits_of(b, 6), bits_of(a, 6), strict=True) for bit in pair
        ]
        found = run_on(circuits.rc_adder(6), [*interleaved, 0, 0])
        assert number_of([*found[0:12:2], found[13]]) == a + b
        assert (found[1:12:2], found[12]) == (bits_of(a, 6), 0)
    for degree in (4, 5):
        for a, b in ((13, 11), (9, 15), (2, 8)):
            found = run_on(
                circuits.gf2_mult(degree), [*bits_of(a, degree), *bits_of(b, degree)] + degree * [0]
            )
            modulus = 1 | 1 << circuits.TRINOMIALS[degree] | 1 << degree
            assert number_of(found[2 * degree :]) == product(a, b, modulus)


def product(a, b, modulus):
    """Of polynomials modulo 2, bit by bit, modulo another one."""
    result = 0
    while b:
        result ^= a * (b & 1)
        a, b = a << 1, b >> 1
        if a.bit_length() == modulus.bit_length():
            a ^= modulus
    return result


def test_the_passes_leave_as_few_t_gates_as_the_literature():
    """The command compares what is left with the circuits, too."""
    command = [sys.executable, str(BENCHMARKS / "clifford_t"), "--only", "mod5_4", "barenco_tof_4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines()[2:] if line]
    assert [(row[0], row[3], row[7]) for row in rows] == [
        ("| mod5_4", "28", "8"),
        ("| barenco_tof_4", "56", "28"),
    ]
