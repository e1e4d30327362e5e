"""What a page of the explorer says, read as a browser reads it; and programs to make pages of."""

import importlib.util
import json
from html.parser import HTMLParser

TRACED = """\
import jax.numpy as jnp
import pennylane as qml
from diastase import for_loop, passes, qjit


@qjit
def traced(params, x):
    y = jnp.sin(x) * 2

    @passes.merge_rotations
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit(p):
        qml.Hadamard(0)
        qml.RX(p[0], 0)
        qml.RX(p[1], 0)

        @for_loop(0, 2, 1)
        def entangle(i):
            qml.CNOT([i, i + 1])

        entangle()
        return qml.expval(qml.Z(2))

    z = circuit(params)
    return z + jnp.sum(y)
"""


def module_of(path, source, name="traced"):
    """The module that a file with this source is, and the compiled function of this name in it."""
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


class PageReader(HTMLParser):
    """Elements, texts and scripts of a page."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self.scripts, self.open = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, text):
        inside = self.open[-1] if self.open else ""
        (self.scripts if inside == "script" else self.texts).append(text)

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


class Shown:
    """The columns of a page: their lines, and the user's lines that each of them comes from."""

    def __init__(self, page):
        self.reader = PageReader(page.html)
        data, _ = self.reader.scripts
        data = json.loads(data)
        self.groups = data["groups"]
        self.columns = {column["name"]: column for column in data["columns"]}
        self.lines = {name: column["text"].split("\n") for name, column in self.columns.items()}
        self.of_line = {name: self._expanded(column) for name, column in self.columns.items()}

    def _expanded(self, column):
        pairs = column["groups"]
        return [group for group, count in zip(pairs[::2], pairs[1::2], strict=True)
                for _ in range(count)]  # fmt: skip

    def lit_by(self, number):
        """Lines of each column that light up with a line of the (only) source file."""
        row = self.columns["source"]["numbers"].index(number)
        wanted = set(self.groups[self.of_line["source"][row]])
        return {
            name: [
                line
                for line, group in zip(self.lines[name], self.of_line[name], strict=True)
                if wanted & set(self.groups[group])
            ]
            for name in self.columns
        }
