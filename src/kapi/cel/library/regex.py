"""Regular expressions: finding and matching text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kapi.api import patterns
from kapi.cel import prices
from kapi.cel.functions import Library, method
from kapi.cel.types import INT, STRING, list_of
from kapi.cel.values import EvaluationError


@lru_cache(maxsize=512)
def compiled(pattern: str, *, captures: bool = True) -> Any:
    """The pattern, or EvaluationError with Go's words."""
    try:
        return patterns.compiled(pattern, captures=captures)
    except patterns.PatternError as error:
        raise EvaluationError(str(error)) from None


def matches(text: str, pattern: str) -> bool:
    # Bytes, and no groups: the binding's way from offsets in bytes to such in text costs more than the search.
    return compiled(pattern, captures=False).search(text.encode()) is not None


def _legal(pattern: str) -> Any:
    try:
        return compiled(pattern)
    except EvaluationError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def find(text: str, pattern: str) -> str:
    match = _legal(pattern).search(text)
    return match.group() if match is not None else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found: list[str] = []
    for match in _legal(pattern).finditer(text):
        if 0 <= limit <= len(found):
            break
        found.append(match.group())
    return found


def library() -> Library:
    strings = list_of(STRING)
    return Library(
        functions={
            "find": (method("string_find_string", (STRING, STRING), STRING, find, prices.regex),),
            "findAll": (
                method("string_find_all_string", (STRING, STRING), strings, find_all, prices.regex),
                method("string_find_all_string_int", (STRING, STRING, INT), strings, find_all, prices.regex),
            ),
        }
    )
