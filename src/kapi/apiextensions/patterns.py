"""Regular expressions in schemas: whether Go would compile them, and what it would say if not."""

from __future__ import annotations

import re2

# How the engine here words what Go's words otherwise.
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


def problem(pattern: str) -> str:
    """Why a pattern does not compile; empty when it does."""
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        text = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error.args[0])
        what, _, where = text.partition(": ")
        return f"error parsing regexp: {_WORDS.get(what, what)}: `{where}`"
    return ""
