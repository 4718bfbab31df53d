"""Functions on strings."""

from __future__ import annotations

from typing import Any

from kapi.api.fields import GO_ESCAPES
from kapi.cel import prices
from kapi.cel.functions import Library, method, overload
from kapi.cel.library.formatting import format_string
from kapi.cel.types import DYN, INT, STRING, list_of
from kapi.cel.values import CostLimitExceeded, EvaluationError, runtime_type

_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_UPPER = {lower: lower - 32 for lower in range(ord("a"), ord("z") + 1)}
_QUOTED = str.maketrans(GO_ESCAPES)
# Go's strings.TrimSpace cuts Unicode white space; Python adds four separators to that.
_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_MAX_RESULT = 2**26


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def index_of(text: str, part: str, offset: int = 0) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return text.find(part, offset)


def last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if offset is None:
        return len(text) if not part else text.rfind(part)
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    if offset >= len(text):
        return -1
    return text.rfind(part, 0, offset + len(part))


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    if len(new) * (text.count(old) if old else len(text) + 1) > _MAX_RESULT:
        raise CostLimitExceeded
    return text.replace(old, new, count if count >= 0 else -1)


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        if limit < 0 or limit > len(text):
            return list(text)
        return [*text[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if end is not None and not 0 <= end <= len(text):
        raise _out_of_range(end)
    return text[start:end]


def join(items: list[Any], separator: str = "") -> str:
    for item in items:
        if not isinstance(item, str):
            shown = item if runtime_type(item).kind != "bool" else str(item).lower()
            raise EvaluationError(f"join: invalid input: {shown}")
    return separator.join(items)


def quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


def library() -> Library:
    texts, pair = list_of(STRING), (STRING, STRING)
    return Library(
        functions={
            "charAt": (method("string_char_at_int", (STRING, INT), STRING, char_at),),
            "indexOf": (
                method("string_index_of_string", pair, INT, index_of, prices.tree),
                method("string_index_of_string_int", (*pair, INT), INT, index_of, prices.tree),
            ),
            "lastIndexOf": (
                method("string_last_index_of_string", pair, INT, last_index_of, prices.tree),
                method("string_last_index_of_string_int", (*pair, INT), INT, last_index_of, prices.tree),
            ),
            "lowerAscii": (
                method("string_lower_ascii", (STRING,), STRING, lambda text: text.translate(_LOWER), prices.traversal),
            ),
            "upperAscii": (
                method("string_upper_ascii", (STRING,), STRING, lambda text: text.translate(_UPPER), prices.traversal),
            ),
            "replace": (
                method("string_replace_string_string", (*pair, STRING), STRING, replace, prices.twice),
                method("string_replace_string_string_int", (*pair, STRING, INT), STRING, replace, prices.twice),
            ),
            "split": (
                method("string_split_string", pair, texts, split, prices.twice),
                method("string_split_string_int", (*pair, INT), texts, split, prices.twice),
            ),
            "substring": (
                method("string_substring_int", (STRING, INT), STRING, substring, prices.traversal),
                method("string_substring_int_int", (STRING, INT, INT), STRING, substring, prices.traversal),
            ),
            "trim": (method("string_trim", (STRING,), STRING, lambda text: text.strip(_SPACE), prices.traversal),),
            "format": (method("string_format", (STRING, list_of(DYN)), STRING, format_string, prices.traversal),),
            "strings.quote": (overload("strings_quote", (STRING,), STRING, quote, prices.traversal),),
            "join": (
                method("list_join", (texts,), STRING, join, prices.of_result),
                method("list_join_string", (texts, STRING), STRING, join, prices.of_result),
            ),
        }
    )
