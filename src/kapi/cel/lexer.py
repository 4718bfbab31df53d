"""Tokens. The longest token wins; bad input is named and skipped, as by the ANTLR lexer that cel-go uses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kapi.cel.source import Issue

EOF = "<EOF>"
# The order is that of the grammar: messages list expected tokens by it.
SYMBOLS = (
    "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?",
    ":", "+", "*", "/", "%", "true", "false", "null",
)  # fmt: skip
NAMED = ("NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER")
ORDER = {kind: index for index, kind in enumerate((EOF, *SYMBOLS, *NAMED))}
KEYWORDS = frozenset({"in", "true", "false", "null"})

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_STRING = (
    rf"\"\"\"(?:{_ESCAPE}|[^\\])*?\"\"\""
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf"|\"(?:{_ESCAPE}|[^\\\"\n\r])*\""
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
    r"|[rR]\"\"\"[\s\S]*?\"\"\""
    r"|[rR]'''[\s\S]*?'''"
    r"|[rR]\"[^\"\n\r]*\""
    r"|[rR]'[^'\n\r]*'"
)
_TOKEN = re.compile(
    rf"(?P<HIDDEN>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<BYTES>[bB](?:{_STRING}))"
    rf"|(?P<STRING>{_STRING})"
    r"|(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])"
    r"|(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<SYMBOL>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)
# What an unfinished token may begin with: an error names the text up to the character that broke it.
_PARTIAL = re.compile(rf"\"(?:{_ESCAPE}|[^\\\"\n\r])*|'(?:{_ESCAPE}|[^\\'\n\r])*|`[A-Za-z0-9_.\-/ ]*|[=&|]")
_PARTIAL_ESCAPE = re.compile(
    r"\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?"  # as far as an escape can get
)
CONTROL = str.maketrans({"\n": "\\n", "\t": "\\t", "\r": "\\r"})


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    offset: int


def display(kind: str) -> str:
    """A kind of token as messages name it."""
    return kind if kind in NAMED or kind == EOF else f"'{kind}'"


def tokenize(text: str) -> tuple[list[Token], list[Issue]]:
    """All tokens, ending with EOF, and the problems met on the way."""
    tokens: list[Token] = []
    issues: list[Issue] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            end = _broken_end(text, position)
            shown = text[position:end].translate(CONTROL)
            issues.append(Issue(position, f"Syntax error: token recognition error at: '{shown}'"))
            position = end
            continue
        kind = match.lastgroup or ""
        if kind != "HIDDEN":
            word = match.group()
            tokens.append(Token(word if kind == "SYMBOL" or word in KEYWORDS else kind, word, position))
        position = match.end()
    tokens.append(Token(EOF, EOF, len(text)))
    return tokens, issues


def _broken_end(text: str, position: int) -> int:
    partial = _PARTIAL.match(text, position)
    if partial is None:
        return position + 1
    end = partial.end()
    if text[position] in "\"'":
        escape = _PARTIAL_ESCAPE.match(text, end)
        if escape is not None:
            end = escape.end()
    return min(end + 1, len(text))
