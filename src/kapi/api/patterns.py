"""Regular expressions: RE2, so that none takes more than linear time, with Go's words for those that do not compile."""

from __future__ import annotations

import re
from typing import Any

# How the engine here words what Go words otherwise.
_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "trailing \\": "trailing backslash at end of expression",
    "invalid named capture group": "invalid named capture",
}
_LOOKBEHIND = ("(?<=", "(?<!")
_ESCAPE = re.compile(r"\\(?:Q.*?(?:\\E|$)|.)", re.DOTALL)


class PatternError(ValueError):
    """A pattern that Go would not compile, in its words."""


def compiled(pattern: str, *, captures: bool = True) -> Any:
    """Raises PatternError."""
    import re2  # the extension loads slowly, and most servers meet no pattern

    options = re2.Options()
    options.log_errors = False
    options.never_capture = not captures
    try:
        made = re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0]
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        what, _, where = text.partition(": ")
        if where in _LOOKBEHIND:  # Go takes it for the name of a group
            what, where = "invalid named capture group", pattern[pattern.index(where) :]
            where = where[: where.find(">") + 1] or where
        raise PatternError(f"error parsing regexp: {_WORDS.get(what, what)}: `{where}`") from None
    if "\\C" in _ESCAPE.findall(pattern):  # a single byte: Go has no such thing
        raise PatternError("error parsing regexp: invalid escape sequence: `\\C`")
    return made
