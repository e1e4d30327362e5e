"""An oracle: what passes and tables make of a circuit does the same, each by itself.

The circuit is traced and lowered, not compiled; `translation` compares it after each pass with what
it was before, as a channel, so that what nobody measures counts, too.
"""

from hypothesis import strategies as st

from diastase import qjit
from diastase.quantum.passes.table import PASSES
from fuzz import grammar
from fuzz.gates import MEASUREMENTS
from fuzz.grammar import mostly
from fuzz.judging import SEED, oracle
from fuzz.programs import Style, qnode, random_state, with_passes
from translation.validation import validating

OF_CIRCUITS = sorted(
    name for name, each in PASSES.items() if each.built_in and each.of == "circuit"
)


@oracle(
    gates=st.one_of(grammar.FEEDBACK, grammar.UNITARY),
    measured=st.sampled_from(sorted(MEASUREMENTS)),
    seed=SEED,
    names=mostly(
        st.lists(st.sampled_from(grammar.PASSES), min_size=2, max_size=6),
        st.lists(st.sampled_from(OF_CIRCUITS), min_size=1, max_size=4),
        one_in=2,
    ),
)
def translation(gates, measured, seed, names):
    state = random_state(seed)
    circuit = qnode(gates, measured, Style(transform=lambda circuit: with_passes(circuit, names)))
    with validating():
        qjit(lambda s: circuit(s.v, s.k - s.k)).trace(state).lower()
