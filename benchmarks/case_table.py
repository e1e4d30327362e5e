"""All rows of the results, with their targets: one line or a few for each."""

from classical_programs import PROGRAMS
from measuring.cases import AtMost, Beside, Case, Faster

SIMULATORS = ("qulacs", "qsim", "qiskit-aer")
ALL = ("diastase", "catalyst", *SIMULATORS, "pennylane")
COMPILERS = ("diastase", "catalyst")
JAX = ("diastase", "jax.jit")
NOT_SLOWER_THAN_QSIM = Faster("qsim", 1)
FIVE_TIMES = (Faster("catalyst", 5), NOT_SLOWER_THAN_QSIM)


def _hea(qubits, layers, *targets):
    """The circuit with its layers as a loop, and written out."""
    size = {"qubits": qubits, "layers": layers}
    title = f"HEA n={qubits} L={layers}"
    yield Case(f"hea-{qubits}", title, "hea", size, ALL, targets=targets, group="hea")
    yield Case(
        f"hea-{qubits}-written-out",
        f"{title}, written out",
        "hea",
        size | {"written_out": True},
        COMPILERS,
        threads=(1,),
        targets=tuple(t for t in targets if t.threads != 2 and t is not NOT_SLOWER_THAN_QSIM),
        group="hea",
    )


def _complex64(name, title, program, arguments):
    """A circuit with amplitudes as qsim has them."""
    return Case(
        f"{name}-complex64",
        f"{title}, complex64",
        program,
        arguments,
        ("diastase", "qsim"),
        options={"precision": "single"},
        targets=(NOT_SLOWER_THAN_QSIM,),
        tolerance=1e-3,
    )


def _compiling(name, title, program, arguments, *targets, **more):
    common = {"threads": (1,), "targets": targets, "group": "compiling"}
    return Case(name, title, program, arguments, **(common | more))


def _gradient(qubits, layers, *targets):
    """The gradient by all angles, beside one forward run."""
    return Case(
        f"gradient-{qubits}",
        f"gradient of HEA n={qubits} L={layers}",
        "hea_gradient",
        {"qubits": qubits, "layers": layers},
        ("diastase", "catalyst", "qulacs", "pennylane"),
        targets=targets,
        group="derivatives",
    )


def _classical(name):
    """A program of the suite: none is to take more than twice the time of `jax.jit`."""
    product = name == "matmul and sin"
    return Case(
        f"classical-{name.lower().replace(' ', '-')}",
        name,
        "classical",
        {"name": name},
        ("diastase", "jax.jit", "catalyst") if product else ("diastase", "jax.jit"),
        targets=(Faster("jax.jit", 1 / 1.2 if product else 1 / 2),),
        tolerance=1e-5,
        group="classical",
    )


def _density(qubits, layers, *targets):
    """Density matrices, beside qiskit-aer's."""
    return Case(
        f"noisy-{qubits}-{layers}",
        f"density matrix n={qubits}, {layers} noisy layers",
        "noisy",
        {"qubits": qubits, "layers": layers},
        ("diastase", "qiskit-aer"),
        targets=(Faster("qiskit-aer", 10), *targets),
        group="noise",
    )


NOISY = {"qubits": 8, "layers": 4}


def _memory(code, distance):
    """All outcomes of a memory experiment, beside stim."""
    return Case(
        f"{code}-{distance}",
        f"100,000 shots of the {code} code d={distance}, {distance} rounds",
        "memory_experiment",
        {"code": code, "distance": distance, "rounds": distance, "shots": 100_000},
        ("diastase", "stim"),
        threads=(1,),
        targets=(Faster("stim", 1 / 1.5),),
        options={"method": "clifford"},
        tolerance=0.02,
        group="noise",
    )


CIRCUIT = {"qubits": 4, "layers": 2, "written_out": True}

CASES = (
    *_hea(20, 10, Faster("catalyst", 6, 1), Faster("catalyst", 8, 2), NOT_SLOWER_THAN_QSIM),
    *_hea(16, 10, Faster("catalyst", 3.5, 1)),
    *_hea(22, 4, Faster("catalyst", 6, 1)),
    *_hea(10, 10, Faster("catalyst", 8)),
    *_hea(4, 2, Faster("catalyst", 8), AtMost(20e-6)),
    Case("qft-20", "QFT n=20", "qft", {"qubits": 20}, ALL, targets=FIVE_TIMES),
    Case("qaoa-20", "QAOA n=20 p=4", "qaoa", {"qubits": 20, "layers": 4}, ALL, targets=FIVE_TIMES),
    Case(
        "brickwork-20", "random brickwork n=20 depth 20", "brickwork", {"qubits": 20, "depth": 20},
        ALL, targets=FIVE_TIMES,
    ),
    Case(
        "trotter-18", "Trotter n=18, 10 steps", "trotter", {"qubits": 18, "steps": 10},
        ALL, targets=FIVE_TIMES,
    ),
    _complex64("hea-20", "HEA n=20 L=10", "hea", {"qubits": 20, "layers": 10}),
    _complex64("qft-20", "QFT n=20", "qft", {"qubits": 20}),
    _complex64("trotter-18", "Trotter n=18, 10 steps", "trotter", {"qubits": 18, "steps": 10}),
    Case(
        "shots-20", "10 000 shots n=20", "shots", {"qubits": 20, "shots": 10_000},
        ALL, targets=(Faster("catalyst", 5),), tolerance=0.05,
    ),
    Case(
        "pauli-16", "⟨H⟩ with 200 Pauli terms n=16", "pauli_terms", {"qubits": 16, "count": 200},
        ALL, targets=(Faster("catalyst", 5),),
    ),
    Case(
        "mid-circuit-10", "1000 measure-and-correct rounds n=10", "mid_circuit",
        {"qubits": 10, "rounds": 1000}, ("diastase", "catalyst", "qulacs"),
        targets=(Faster("catalyst", 5),),
    ),
    Case(
        "scalar-call", "call overhead, scalar → scalar", "scalar", {},
        ("diastase", "jax.jit", "catalyst"), threads=(1,), targets=(AtMost(10e-6),),
        group="calling",
    ),
    _compiling(
        "first-compile", "first compile in a process (22 gates)", "hea", CIRCUIT,
        Faster("catalyst", 4), subjects=COMPILERS, kind="first",
    ),
    _compiling(
        "second-process", "the same program in a second process", "hea", CIRCUIT,
        AtMost(20e-3), subjects=COMPILERS, kind="again",
    ),
    _compiling("import", "import beyond JAX and PennyLane", "scalar", {}, AtMost(0.15),
        subjects=COMPILERS, kind="import",
    ),
    _compiling(
        "later-compile", "later compile (22 gates)", "hea", CIRCUIT,
        Faster("catalyst", 2), subjects=COMPILERS, kind="compile",
    ),
    _compiling(
        "scalar-compile", "later compile, scalar → scalar", "scalar", {},
        subjects=("diastase", "jax.jit", "catalyst"), kind="compile",
    ),
    _compiling(
        "compile-1000", "compile 1000 unrolled gates", "hea",
        {"qubits": 10, "layers": 34, "written_out": True},
        Faster("catalyst", 4), subjects=COMPILERS, kind="compile",
    ),
    _compiling(
        "compile-10000", "compile 10 000 unrolled gates", "hea",
        {"qubits": 10, "layers": 345, "written_out": True},
        AtMost(3), subjects=COMPILERS, kind="compile", patience=45.0,
    ),
    _compiling(
        "compile-calls", "compile 2000 QNode calls", "many_calls", {"calls": 2000},
        AtMost(3), subjects=COMPILERS, kind="compile", patience=45.0,
    ),
    _gradient(16, 10, Faster("catalyst", 5), Beside("hea-16", 5)),
    _gradient(10, 10, Faster("catalyst", 5)),
    _gradient(4, 2, Faster("catalyst", 5)),
    _gradient(20, 10, Faster("catalyst", 5), Beside("hea-20", 5)),
    _compiling(
        "gradient-compile", "compile the gradient of HEA n=16 L=10", "hea_gradient",
        {"qubits": 16, "layers": 10}, Faster("catalyst", 2),
        subjects=COMPILERS, kind="compile", group="derivatives",
    ),
    _compiling(
        "gradient-compile-2000", "compile the gradient of 2000 unrolled gates", "hea_gradient",
        {"qubits": 10, "layers": 69, "written_out": True}, Faster("catalyst", 2),
        Beside("gradient-compile-1000", 2.2),
        subjects=COMPILERS, kind="compile", patience=60.0, group="derivatives",
    ),
    _compiling(
        "gradient-compile-1000", "compile the gradient of 1000 unrolled gates", "hea_gradient",
        {"qubits": 10, "layers": 34, "written_out": True}, Faster("catalyst", 2),
        subjects=COMPILERS, kind="compile", patience=60.0, group="derivatives",
    ),
    Case(
        "vmap-100", "vmap of 100 × HEA n=10 L=10", "hea_batch",
        {"batch": 100, "qubits": 10, "layers": 10}, COMPILERS,
        targets=(Faster("catalyst", 5), Beside("vmap-100", 1 / 1.7, threads=2, of_threads=1)),
        group="derivatives",
    ),
    Case(
        "called-by-jax", "`jax.jit` around a qjit function, scalar → scalar", "called_by_jax", {},
        COMPILERS, threads=(1,), targets=(Beside("scalar-call", 1, more=10e-6),), group="calling",
    ),
    Case(
        "noisy-8", "density matrix n=8, 4 noisy layers", "noisy", NOISY,
        ("diastase", "pennylane", "jax.jit"), threads=(1,), group="noise",
        targets=(AtMost(2e-3), Faster("pennylane", 300), Faster("jax.jit", 8)),
    ),
    _compiling(
        "noisy-8-compile", "compile the same", "noisy", NOISY, Faster("jax.jit", 20),
        subjects=JAX, kind="compile", group="noise",
    ),
    Case(
        "noisy-8-gradient", "its gradient by 32 angles and the strength", "noisy_gradient", NOISY,
        JAX, threads=(1,), targets=(Beside("noisy-8", 6),), group="noise",
    ),
    *(_density(qubits, 10) for qubits in (8, 10, 12)),
    Case(
        "trajectories-20", "1000 trajectories n=20, 4 noisy layers", "noisy",
        {"qubits": 20, "layers": 4, "shots": 1000}, ("diastase", "qsim", "qiskit-aer"),
        targets=(Faster("qiskit-aer", 5), Faster("qsim", 3)), options={"method": "trajectories"},
        shares={"qsim": 50, "qiskit-aer": 100}, tolerance=0.5, group="noise",
    ),
    Case(
        "feedback-10", "100,000 shots n=10, 100 measurements with feedback", "feedback",
        {"qubits": 10, "measurements": 100, "shots": 100_000}, COMPILERS,
        targets=(Faster("catalyst", 20),), shares={"catalyst": 100}, tolerance=0.2, group="noise",
    ),
    *(_memory(code, distance) for code in ("repetition", "surface") for distance in (3, 5)),
    *map(_classical, PROGRAMS),
)  # fmt: skip
