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
_ESCAPED = re.compile(r"__(?:underscores|dot|dash|slash)__")
_MEANINGS = {word: text for text, word in _WORDS.items()}


def escape(name: str) -> str | None:
    """The identifier for a property, or None where there is none."""
    if name in RESERVED:
        return f"__{name}__"
    if not _ALLOWED.fullmatch(name):
        return None
    return _SPECIAL.sub(lambda match: _WORDS[match.group()], name)


def unescape(identifier: str) -> str:
    """The property that an identifier stands for: itself, when nothing in it is escaped."""
    if identifier.startswith("__") and identifier.endswith("__") and identifier[2:-2] in RESERVED:
        return identifier[2:-2]
    return _ESCAPED.sub(lambda match: _MEANINGS[match.group()], identifier)
