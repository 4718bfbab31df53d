"""Values as YAML: block style, keys sorted, lists not indented below their key; text quoted only where it must be.

Lines are folded as go-yaml folds them: at the first single space past the eightieth column.
"""

from __future__ import annotations

import json
import re
from typing import Any

from kapi.codec.yaml_scalars import Bad, is_plain_text

# What may stand in a plain scalar: no indicator at the start, nothing that ends it early, only printable characters.
_PLAIN = re.compile(
    r"(?:[^\s\-?:,\[\]{}#&*!|>'\"%@`\x00-\x1f\x7f-\x9f\ufeff]|[-?:](?=\S))(?:[^:#\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe]|:(?=\S)|(?<=\S)#)*(?<!\s)"
)
_SPECIAL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ufeff\u2028\u2029\ud800-\udfff\ufffe\uffff\U00010000-\U0010ffff]")
_ESCAPED = re.compile(f'[\n"\\\\]|{_SPECIAL.pattern}')
_ESCAPES = {
    "\0": r"\0", "\a": r"\a", "\b": r"\b", "\t": r"\t", "\n": r"\n", "\v": r"\v", "\f": r"\f", "\r": r"\r",
    "\x1b": r"\e", '"': r"\"", "\\": r"\\", "\x85": r"\N", "\u2028": r"\L", "\u2029": r"\P",
}  # fmt: skip
_WIDTH = 80
_FOLDABLE = re.compile(r"(?<=[^ ]) (?=[^ ])")
# Between double quotes also before more spaces: a backslash keeps those.
_FOLDABLE_QUOTED = re.compile(r"(?<=[^ ]) (?=.)", re.DOTALL)
_NUMBERS = re.compile(r"[0-9]+")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}.*)?", re.ASCII)
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?", re.ASCII)


def dumps(value: Any) -> bytes:
    """A document."""
    out: list[str] = []
    if isinstance(value, dict) and value:
        _mapping(value, 0, out)
    elif isinstance(value, list) and value:
        _sequence(value, 0, out)
    else:
        out.append(_scalar(value, 0, 0) + "\n")
    return "".join(out).encode("utf-8", "replace")


def _mapping(value: dict[str, Any], indent: int, out: list[str], *, started: bool = False) -> None:
    pad = "  " * indent
    for key in sorted(value, key=_order):
        item, shown = value[key], _key(key)
        out.append(f"{'' if started else pad}{shown}:")
        started = False
        if isinstance(item, dict) and item:
            out.append("\n")
            _mapping(item, indent + 1, out)
        elif isinstance(item, list) and item:
            out.append("\n")
            _sequence(item, indent, out)
        else:
            out.append(f" {_scalar(item, indent + 1, len(pad) + len(shown) + 2)}\n")


def _sequence(value: list[Any], indent: int, out: list[str], *, started: bool = False) -> None:
    pad = "  " * indent
    for item in value:
        out.append(f"{'' if started else pad}- ")
        started = False
        if isinstance(item, dict) and item:
            _mapping(item, indent + 1, out, started=True)
        elif isinstance(item, list) and item:
            _sequence(item, indent + 1, out, started=True)
        else:
            out.append(f"{_scalar(item, indent + 1, len(pad) + 2)}\n")


def _scalar(value: Any, indent: int, column: int) -> str:
    """As it stands in a line from this column on; more lines are indented."""
    if isinstance(value, str):
        return _text(value, indent, column)
    if isinstance(value, (dict, list)):
        return "{}" if isinstance(value, dict) else "[]"
    return json.dumps(value)


def _key(key: str) -> str:
    # Keys stand in one line, however long.
    return _text(key, 0, None)


def _text(text: str, indent: int, column: int | None) -> str:
    if "\n" in text and column is not None and _has_block_form(text):
        return _literal(text, indent)
    if _SPECIAL.search(text) or "\n" in text or not _reads_as_text(text):
        rendered, foldable = _double_quoted(text), _FOLDABLE_QUOTED
    elif _PLAIN.fullmatch(text):
        rendered, foldable = text, _FOLDABLE
    else:
        rendered, foldable = "'" + text.replace("'", "''") + "'", _FOLDABLE
    if column is None or column + len(rendered) <= _WIDTH:
        return rendered
    return _folded(rendered, foldable, "  " * indent, column)


def _folded(rendered: str, foldable: re.Pattern[str], pad: str, column: int) -> str:
    quote = rendered[0] if rendered[0] in "'\"" else ""
    # Not next to the quotes.
    first, *rest = foldable.split(rendered[1:-1] if quote else rendered)
    out = [quote, first]
    column += len(quote) + len(first)
    for part in rest:
        if column > _WIDTH:
            kept = "\\" if part.startswith(" ") else ""
            out.append(f"\n{pad}{kept}{part}")
            column = len(pad) + len(kept) + len(part)
        else:
            out.append(f" {part}")
            column += 1 + len(part)
    return "".join(out) + quote


def _reads_as_text(text: str) -> bool:
    if _BASE_60.fullmatch(text) or _TIMESTAMP.fullmatch(text):
        return False
    try:
        return is_plain_text(text)
    except Bad:
        return False


def _has_block_form(text: str) -> bool:
    """Block scalars keep no space before a line end, and nothing unprintable."""
    return not (_SPECIAL.search(text) or " \n" in text or text.endswith(" "))


def _literal(text: str, indent: int) -> str:
    body = text.rstrip("\n")
    extra = len(text) - len(body)
    chomp = "-" if extra == 0 else "" if extra == 1 and body else "+"
    hint = "2" if text[0] in " \n" else ""  # the indentation could not be told by the first line
    pad = "  " * max(indent, 1)
    lines = [f"{pad}{line}" if line else "" for line in body.split("\n")] + [""] * max(extra - 1, 0)
    return f"|{hint}{chomp}\n" + "\n".join(lines)


def _double_quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    named = _ESCAPES.get(match[0])
    if named is not None:
        return named
    code = ord(match[0])
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _order(key: str) -> list[tuple[int, int, str]]:
    """Numbers inside keys sort by their value, as go-yaml sorts them."""
    parts: list[tuple[int, int, str]] = []
    position = 0
    for match in _NUMBERS.finditer(key):
        parts += [(1, ord(c), c) for c in key[position : match.start()]]
        parts.append((0, int(match[0]) if len(match[0]) < 20 else 1 << 64, match[0]))
        position = match.end()
    return parts + [(1, ord(c), c) for c in key[position:]]
