"""Property names as CEL identifiers: `a-b` is written `a__dash__b`, a keyword `__for__`."""

from __future__ import annotations

import re

RESERVED = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
        "let", "loop", "package", "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
_SPECIAL = re.compile(r"__|[-./]")
_ALLOWED = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_WORDS = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escape(name: str) -> str | None:
    """The identifier for a property, or None where there is none."""
    if name in RESERVED:
        return f"__{name}__"
    if not _ALLOWED.fullmatch(name):
        return None
    return _SPECIAL.sub(lambda match: _WORDS[match.group()], name)
