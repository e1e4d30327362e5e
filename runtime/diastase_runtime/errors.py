"""The base of all our exceptions, and those that the runtime raises.

An error is a dataclass by topic: the class holds the wording (templates over its fields), a
raise site passes data. The class docstring is the user's help page: when it arises, an example,
the fix. Errors of ours also derive from the built-in exception that a Python user would catch
(`TypeError`, `ValueError`, …). `InternalError` is for our own mistakes and asks for a report.
"""

import linecache
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True)
class Span:
    """A line of the user's source."""

    file: str
    line: int
    function: str = ""

    @property
    def text(self) -> str:
        """The source line itself, or an empty string where the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()


@dataclass(eq=False, kw_only=True)
class DiastaseError(Exception):
    """Anything that diastase refuses or reports; catch it to catch all of ours."""

    title: ClassVar[str] = "Error"
    message: ClassVar[str] = ""
    label: ClassVar[str] = ""
    """A few words that stand under the user's line."""
    help: ClassVar[str] = ""
    """What to do about it."""

    span: Span | None = field(default=None)

    def __str__(self) -> str:
        """Title, message, the user's line with its label, and what to do."""
        fields = vars(self)
        lines = [f"{self.title.format(**fields)}: {self.message.format(**fields)}"]
        if self.span is not None:
            where = f" in {self.span.function}" if self.span.function else ""
            lines.append(f'  --> {self.span.file}:{self.span.line}{where}')
            if self.span.text:
                number = str(self.span.line)
                lines.append(f"   {number} | {self.span.text}")
                label = self.label.format(**fields)
                carets = "^" * len(self.span.text)
                lines.append(f"   {' ' * len(number)} | {carets} {label}".rstrip())
        if self.help:
            lines.append(f"  help: {self.help.format(**fields)}")
        return "\n".join(lines)


@dataclass(eq=False, kw_only=True)
class InternalError(DiastaseError):
    """A mistake of ours, never of the user's; please report it with the program."""

    title: ClassVar[str] = "Internal error of diastase"
    message: ClassVar[str] = "{what}"
    help: ClassVar[str] = "please report this together with the program that caused it"
    what: str
