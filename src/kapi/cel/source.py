"""Positions in an expression, and compile errors as cel-go prints them."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

from kapi.cel.types import CelType

MAX_SNIPPET = 16_384
MAX_ERRORS = 100


@dataclass(frozen=True, slots=True)
class Issue:
    """One problem at a code point offset; -1 says that it has no place in the text."""

    offset: int
    message: str


class CompileError(Exception):
    """An expression that does not compile; its text lists every issue with the source line and a caret."""

    step = "compilation"

    def __init__(self, source: Source, issues: list[Issue]) -> None:
        self.issues = source.ordered(issues)
        super().__init__(source.display(issues))


class InstantiationError(CompileError):
    """A call on literals that can only fail: as in cel-go it is found when the program is made, even if never run."""

    step = "program instantiation"
    result_type: CelType | None = None  # what the program would make

    def __init__(self, why: Exception) -> None:
        self.issues = []
        Exception.__init__(self, str(why))


@dataclass(slots=True)
class Source:
    text: str
    line_starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.line_starts = [0]
        for index, character in enumerate(self.text):
            if character == "\n":
                self.line_starts.append(index + 1)

    def location(self, offset: int) -> tuple[int, int]:
        """The line (from 1) and the column (from 0)."""
        if offset < 0:
            return -1, -1
        line = bisect.bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1]

    def ordered(self, issues: list[Issue]) -> list[Issue]:
        return sorted(issues, key=lambda issue: self.location(issue.offset))

    def display(self, issues: list[Issue]) -> str:
        shown = [self._display(issue) for issue in self.ordered(issues[:MAX_ERRORS])]
        if len(issues) > MAX_ERRORS:
            shown.append(f"{len(issues) - MAX_ERRORS} more errors were truncated")
        return "\n".join(shown)

    def _display(self, issue: Issue) -> str:
        if not self.text:
            # As cel-go's lexer has it: the end of an empty text lies before its first column.
            return f"ERROR: <input>:1:0: {issue.message}"
        line, column = self.location(issue.offset)
        result = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
        if line < 1:
            return result
        snippet = self.text.split("\n")[line - 1].replace("\t", " ")
        if len(snippet) > MAX_SNIPPET:
            return result
        dots = "".join("." if ord(character) < 128 else "．" for character in snippet[:column])
        wide = column < len(snippet) and ord(snippet[column]) >= 128
        return f"{result}\n | {snippet}\n | {dots}{'＾' if wide else '^'}"
