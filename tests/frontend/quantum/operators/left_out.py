"""Operator classes without an example, each with the reason."""

_CONTINUOUS = "acts on oscillators, not on qubits"
_QUTRIT = "acts on qutrits"
_NOISE = "is noise, which a state vector cannot hold: default.mixed runs it"
_OBSERVABLE = "is an observable; as a gate it would leave the state without norm, so it is refused"
_ABSTRACT = "is a base class, made by other constructors"
_MID_CIRCUIT = "is made by qml.measure and qml.cond, which programs of ours replace"

LEFT_OUT: dict[str, str] = {
    **dict.fromkeys(
        (
            "Beamsplitter CatState CoherentState ControlledAddition ControlledPhase CrossKerr"
            " CubicPhase DisplacedSqueezedState Displacement FockDensityMatrix FockState"
            " FockStateProjector FockStateVector GaussianState InterferometerUnitary Kerr"
            " NumberOperator PolyXP QuadOperator QuadP QuadX QuadraticPhase Rotation SqueezedState"
            " Squeezing TensorN ThermalState TwoModeSqueezing DisplacementEmbedding"
            " SqueezingEmbedding CVNeuralNetLayers Interferometer"
        ).split(),
        _CONTINUOUS,
    ),
    **dict.fromkeys(
        (
            "QutritAmplitudeDamping QutritChannel QutritDepolarizingChannel TritFlip"
            " ControlledQutritUnitary QutritUnitary TAdd TClock THadamard TSWAP TShift GellMann"
            " THermitian TRX TRY TRZ QutritBasisState QutritBasisStatePreparation"
        ).split(),
        _QUTRIT,
    ),
    **dict.fromkeys(
        (
            "AmplitudeDamping BitFlip DepolarizingChannel GeneralizedAmplitudeDamping PauliError"
            " PhaseDamping PhaseFlip QubitChannel ResetError ThermalRelaxationError"
            " QubitDensityMatrix"
        ).split(),
        _NOISE,
    ),
    **dict.fromkeys(
        (
            "Hermitian Projector BasisStateProjector StateVectorProjector SparseHamiltonian Sum"
            " SProd LinearCombination"
        ).split(),
        _OBSERVABLE,
    ),
    **dict.fromkeys(
        (
            "CompositeOp SymbolicOp ScalarSymbolicOp AdjointOperation PowOperation TmpPauliRot"
            " CollectedSubroutine"
        ).split(),
        _ABSTRACT,
    ),
    **dict.fromkeys("MidMeasure PauliMeasure Conditional".split(), _MID_CIRCUIT),
    "SumOfSlatersPrep": "default.qubit has no reference: it has rules of the graph only"
    " (test_rules.py)",
    "SubroutineOp": "is made by qml.templates.Subroutine (test_user_defined.py)",
}
"""Names of classes in `pennylane.ops` and `pennylane.templates`."""
