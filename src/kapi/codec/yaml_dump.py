"""Values as YAML: block style, keys sorted, lists not indented below their key; text quoted only where it must be.

Lines are folded as go-yaml folds them: at the first single space after the eightieth column.
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
_SPECIAL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ufeff\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_ESCAPED = re.compile(rf"[\"\\\n]|{_SPECIAL.pattern}")
_ESCAPES = {
    "\0": "\\0",
    "\a": "\\a",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\v": "\\v",
    "\f": "\\f",
    "\r": "\\r",
    "\x1b": "\\e",
    "\x85": "\\N",
    "\u2028": "\\L",
    "\u2029": "\\P",
    '"': '\\"',
    "\\": "\\\\",
}
_WIDTH = 80
_FOLDS = re.compile(r"(?<=[^ ]) (?=[^ ])")
_FOLDS_IN_QUOTES = re.compile(r"(?<=[^ ]) (?=.)")  # double ones: there a space may be escaped
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
        item = value[key]
        name = _key(key)
        out.append(f"{'' if started else pad}{name}:")
        started = False
        if isinstance(item, dict) and item:
            out.append("\n")
            _mapping(item, indent + 1, out)
        elif isinstance(item, list) and item:
            out.append("\n")
            _sequence(item, indent, out)
        else:
            out.append(f" {_scalar(item, indent + 1, len(pad) + len(name) + 2)}\n")


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
    if isinstance(value, str):
        return _folded(_text(value, indent), indent, column)
    if isinstance(value, (dict, list)):
        return "{}" if isinstance(value, dict) else "[]"
    return json.dumps(value)


def _folded(text: str, indent: int, column: int) -> str:
    if column + len(text) <= _WIDTH or text[0] == "|":
        return text
    quote = text[0] if text[0] in "'\"" else ""
    body = text[1:-1] if quote else text
    pad, begin, column = "  " * indent, 0, column + len(quote)
    out = [quote]
    for fold in (_FOLDS_IN_QUOTES if quote == '"' else _FOLDS).finditer(body):
        if column + fold.start() - begin <= _WIDTH:
            continue
        escape = "\\" if body[fold.end()] == " " else ""
        out.append(f"{body[begin : fold.start()]}\n{pad}{escape}")
        begin, column = fold.end(), len(pad) + len(escape)
    return "".join([*out, body[begin:], quote])


def _key(key: str) -> str:
    return _double_quoted(key) if "\n" in key else _text(key, 0)


def _text(text: str, indent: int) -> str:
    if "\n" in text and _has_block_form(text):
        return _literal(text, indent)
    if _SPECIAL.search(text) or "\n" in text or not _reads_as_text(text):
        return _double_quoted(text)
    if _PLAIN.fullmatch(text):
        return text
    return "'" + text.replace("'", "''") + "'"


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
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    return _ESCAPES.get(found[0]) or (f"\\x{number:02X}" if number <= 0xFF else f"\\u{number:04X}")


def _order(key: str) -> list[tuple[int, int, str]]:
    """Numbers inside keys sort by their value, as go-yaml sorts them."""
    parts: list[tuple[int, int, str]] = []
    position = 0
    for match in _NUMBERS.finditer(key):
        parts += [(1, ord(c), c) for c in key[position : match.start()]]
        parts.append((0, int(match[0]) if len(match[0]) < 20 else 1 << 64, match[0]))
        position = match.end()
    return parts + [(1, ord(c), c) for c in key[position:]]
