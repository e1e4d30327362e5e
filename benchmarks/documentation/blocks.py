"""Documents to programs: each block of Python in a page, as statements to run in turn.

In: the text of a page in reStructuredText or Markdown, or of a docstring. Out: `Block`s in the
order of the page. A block is a directed or fenced piece of code (`.. code-block:: python`, three
backticks) or a run of `>>>` prompts in plain text; where it has prompts, each prompt is a
statement of its own, and what the page prints below is kept beside it.
"""

import ast
import doctest
import re
import textwrap
from dataclasses import dataclass

_LANGUAGES = {"python", "pycon", "python3", "py", ">>>"}
_DIRECTIVE = re.compile(r"^([ \t]*)\.\. (?:code-block|code|sourcecode):: *(\S*)")
_FENCE = re.compile(r"^([ \t]*)```+ *(\S*)")
_PROMPT = re.compile(r"^[ \t]*>>> ")
_OPTION = re.compile(r"^\s*:[\w-]+:.*$")


@dataclass(frozen=True)
class Block:
    line: int
    """In its page, from 1."""
    statements: tuple
    """Sources, in order, each with the mode that it is compiled in: `exec`, a prompt `single`."""
    shown: str = ""
    """What the page says that its prompts print."""


def blocks_of(text):
    """All blocks of Python in a page, in order."""
    lines, found, at = text.splitlines(), [], 0
    while at < len(lines):
        start, body, at = _block_at(lines, at)
        if block := _block(start + 1, "\n".join(body)):
            found.append(block)
    return found


def _block_at(lines, at):
    """The first line of a block (none: an empty one), its text, and where to go on."""
    if directive := _DIRECTIVE.match(lines[at]):
        end = _end_of_indented(lines, at + 1, len(directive[1]))
        body = [line for line in lines[at + 1 : end] if not _OPTION.match(line)]
        return at, body if directive[2] in _LANGUAGES else (), end
    if fence := _FENCE.match(lines[at]):
        end = next((i for i in range(at + 1, len(lines)) if "```" in lines[i]), len(lines))
        return at, lines[at + 1 : end] if fence[2] in _LANGUAGES else (), end + 1
    if _PROMPT.match(lines[at]):
        end = next((i for i in range(at, len(lines)) if not lines[i].strip()), len(lines))
        return at, lines[at:end], end
    return at, (), at + 1


def _end_of_indented(lines, at, margin):
    for i in range(at, len(lines)):
        line = lines[i]
        if line.strip() and len(line) - len(line.lstrip()) <= margin:
            return i
    return len(lines)


def _block(line, body):
    body = textwrap.dedent(body).strip("\n")
    if not body.strip():
        return None
    if not _PROMPT.search(body) and not re.search(r"^>>> ", body, re.MULTILINE):
        return Block(line, ((body, "exec"),))
    try:
        examples = doctest.DocTestParser().get_examples(body)
    except ValueError:
        return None
    statements = tuple((example.source, _mode(example.source)) for example in examples)
    wanted = [example.want for example in examples]
    return Block(line, statements, "".join(wanted)) if statements else None


def _mode(source):
    """`single` prints the value of an expression, and takes one statement only."""
    try:
        return "single" if len(ast.parse(source).body) == 1 else "exec"
    except SyntaxError:
        return "exec"
