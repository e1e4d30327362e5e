"""Random circuits in which outcomes decide what happens, what is counted, and when loops end.

A program is a list of statements, as JSON has them, on wires and on two integers, the registers.
`play` says what they do, by one of two ways to do it: `Compiled`, which is diastase's control flow,
and `Enumerated`, which is Python on a NumPy state vector, once for each sequence of outcomes.
"""

from collections import defaultdict

import jax.numpy as jnp
import numpy as np
import pennylane as qml

import diastase

WIRES = 3
GATES = {
    "RX": (1, 1), "RY": (1, 1), "PhaseShift": (1, 1), "Hadamard": (0, 1), "SX": (0, 1),
    "CNOT": (0, 2), "CRY": (1, 2), "IsingXY": (1, 2), "ControlledPhaseShift": (1, 2),
    "SWAP": (0, 2), "Toffoli": (0, 3), "CSWAP": (0, 3),
}  # fmt: skip
"""How many angles, how many wires."""


def random_program(random, depth=2, length=5):
    """Statements, with blocks so deep."""
    return [_statement(random, depth) for _ in range(random.randint(1, length))]


def _statement(random, depth):
    kinds = ["gate", "gate", "gate", "turn", "measure", "measure", "move", "count"]
    kinds += ["if", "for", "while"] * (depth > 0)
    kind = random.choice(kinds)
    register, wire = random.randrange(2), random.randrange(WIRES)

    def block():
        return random_program(random, depth - 1, 3)

    if kind == "gate":
        name = random.choice(sorted(GATES))
        angles, wires = GATES[name]
        numbers = [round(random.uniform(-2, 2), 2) for _ in range(angles)]
        return [kind, name, numbers, random.sample(range(WIRES), wires)]
    if kind == "turn":
        return [kind, round(random.uniform(-1, 1), 2), register, wire]
    if kind == "measure":
        return [kind, wire, random.random() < 0.3, register]
    if kind == "move":
        return [kind, register, random.randrange(2)]
    if kind == "count":
        return [kind, register, random.randrange(3) - 1]
    if kind == "if":
        return [kind, register, block(), block()]
    return [kind, register, block()] if kind == "for" else [kind, register, wire, block()]


def play(program, registers, api):
    """Apply statements; the registers afterwards."""
    for kind, *parts in program:
        registers = list(registers)
        if kind == "gate":
            name, numbers, wires = parts
            api.gate(name, numbers, wires)
        elif kind == "turn":
            angle, register, wire = parts
            api.gate("RX", [angle * (1 + registers[register])], [wire])
        elif kind == "measure":
            wire, reset, register = parts
            registers[register] = api.measure(wire, reset)
        elif kind == "move":
            register, other = parts
            api.gate("RY", [0.7], [api.wire(registers[register] + other)])
        elif kind == "count":
            register, more = parts
            registers[register] = registers[0] + registers[1] + more
        elif kind == "if":
            register, *blocks = parts
            runs = [lambda r, block=block: play(block, r, api) for block in blocks]
            registers = api.choose(registers[register] > 0, *runs, registers)
        elif kind == "for":
            register, block = parts
            turns = api.select(registers[register] > 0, 2, 1)
            registers = api.repeat(turns, lambda r, block=block: play(block, r, api), registers)
        else:
            register, wire, block = parts

            def turn(r, block=block, wire=wire, register=register):
                r = list(play(block, r, api))
                r[register] = api.measure(wire, False)
                return r

            registers = api.until(register, turn, registers)
    return registers


class Compiled:
    """Statements of diastase."""

    select = staticmethod(jnp.where)

    def gate(self, name, numbers, wires):
        getattr(qml, name)(*numbers, wires=wires)

    def measure(self, wire, reset):
        return diastase.measure(wire, reset=reset).astype(int)

    def wire(self, number):
        return jnp.where(number > 0, 1, 2)

    def choose(self, condition, then, other, registers):
        conditional = diastase.cond(condition)(lambda: tuple(then(registers)))
        conditional.otherwise(lambda: tuple(other(registers)))
        return conditional()

    def repeat(self, turns, turn, registers):
        loop = diastase.for_loop(0, turns, 1)(lambda i, *r: tuple(turn(r)))
        return loop(*registers)

    def until(self, register, turn, registers):
        """Until an outcome is 1, three times at most."""
        loop = diastase.while_loop(lambda count, *r: (r[register] == 0) & (count < 3))(
            lambda count, *r: (count + 1, *turn(r))
        )
        return loop(0, *registers)[1:]


class Enumerated:
    """Statements on a state vector, whose outcomes are those of a script, then 0."""

    def __init__(self, script):
        self.script, self.taken = script, []
        self.state = np.zeros(2**WIRES, complex)
        self.state[0] = 1

    def select(self, condition, one, other):
        return one if condition else other

    def gate(self, name, numbers, wires):
        operator = getattr(qml, name)(*numbers, wires=wires)
        self.state = qml.matrix(operator, wire_order=range(WIRES)) @ self.state

    def measure(self, wire, reset):
        place = len(self.taken)
        outcome = self.script[place] if place < len(self.script) else 0
        self.taken.append(outcome)
        bits = np.arange(2**WIRES) >> (WIRES - 1 - wire) & 1
        self.state = np.where(bits == outcome, self.state, 0)
        if reset and outcome:
            self.gate("PauliX", [], [wire])
        return outcome

    def wire(self, number):
        return 1 if number > 0 else 2

    def choose(self, condition, then, other, registers):
        return then(registers) if condition else other(registers)

    def repeat(self, turns, turn, registers):
        for _ in range(turns):
            registers = turn(registers)
        return registers

    def until(self, register, turn, registers):
        count = 0
        while registers[register] == 0 and count < 3:
            registers, count = turn(registers), count + 1
        return registers


def compiled(program):
    """The function of a program, to be compiled: its registers, and probabilities of all wires."""

    @qml.qnode(qml.device("lightning.qubit", wires=WIRES))
    def circuit():
        registers = play(program, [jnp.asarray(0), jnp.asarray(0)], Compiled())
        return *(jnp.asarray(register) for register in registers), qml.probs(wires=range(WIRES))

    return circuit


def distribution(program):
    """How probable registers and bits are, by all sequences of outcomes that are possible."""
    found, waiting = defaultdict(float), [()]
    while waiting:
        script = waiting.pop()
        api = Enumerated(script)
        registers = play(program, [0, 0], api)
        # Scripts that go on with 0 are the same sequence; its last outcomes may have been 1.
        waiting += [(*api.taken[:place], 1) for place in range(len(script), len(api.taken))]
        for bits, amplitude in enumerate(api.state):
            found[(*map(int, registers), bits)] += abs(amplitude) ** 2
    return {key: weight for key, weight in found.items() if weight > 1e-12}
