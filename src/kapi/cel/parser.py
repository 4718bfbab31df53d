"""Recursive descent from tokens to the tree; syntax errors are worded and recovered from as ANTLR does for cel-go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kapi.cel.ast import Call, Entry, Ident, ListExpr, Literal, MapExpr, Node, Select, StructExpr
from kapi.cel.escaping import RESERVED
from kapi.cel.lexer import CONTROL, EOF, ORDER, Token, display, tokenize
from kapi.cel.literals import parse_double, parse_int, parse_uint, unquote_bytes, unquote_string
from kapi.cel.source import CompileError, Issue, Source

MAX_SIZE = 100_000
MAX_DEPTH = 250
_LITERALS = frozenset({"true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES"})
_STARTS = frozenset({"[", "{", "(", ".", "-", "!", "IDENTIFIER"}) | _LITERALS
_CLOSING = frozenset(")]}")
_FIELDS = frozenset({"IDENTIFIER", "ESC_IDENTIFIER"})
_BINARY = {
    "==": (1, "_==_"), "!=": (1, "_!=_"), "in": (1, "@in"), "<": (1, "_<_"), "<=": (1, "_<=_"), ">=": (1, "_>=_"),
    ">": (1, "_>_"), "+": (2, "_+_"), "-": (2, "_-_"), "*": (3, "_*_"), "/": (3, "_/_"), "%": (3, "_%_"),
}  # fmt: skip
_AFTER_MEMBER = _BINARY.keys() | _CLOSING | {"&&", "||", "?", ":", ",", EOF}

MacroKey = tuple[str, int, bool]


class MacroError(Exception):
    """A macro was called with arguments that it can not take."""

    def __init__(self, node: Node, message: str) -> None:
        super().__init__(message)
        self.offset = node.offset


Macro = Callable[[int, Node | None, list[Node]], Node | None]
Macros = Mapping[MacroKey, Macro]


class _Abandoned(Exception):
    """No way to go on: what was found so far is reported."""


def parse(source: Source, macros: Macros) -> Node:
    """The tree of an expression with its macros expanded, or CompileError."""
    if len(source.text) > MAX_SIZE:
        message = f"expression code point size exceeds limit: size: {len(source.text)}, limit {MAX_SIZE}"
        raise CompileError(source, [Issue(-1, message)])
    parser = _Parser(source, macros)
    try:
        tree = parser.start()
    except _Abandoned:
        tree = None
    except RecursionError:
        parser.issues.append(Issue(-1, f"expression recursion limit exceeded: {MAX_DEPTH}"))
        tree = None
    if parser.issues or tree is None:
        raise CompileError(source, parser.issues)
    return tree


class _Parser:
    def __init__(self, source: Source, macros: Macros) -> None:
        self.text = source.text
        self.tokens, self.issues = tokenize(source.text)
        self.macros = macros
        self.position = 0
        self.depth = 0
        self.open = 0
        self.recovering = False

    # Tokens

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def peek(self, distance: int) -> Token:
        return self.tokens[min(self.position + distance, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.token
        self.recovering = False
        if token.kind != EOF:
            self.position += 1
        return token

    def accept(self, kind: str) -> Token | None:
        return self.advance() if self.token.kind == kind else None

    def syntax_error(self, token: Token, message: str) -> None:
        if not self.recovering:
            self.recovering = True
            self.issues.append(Issue(token.offset, f"Syntax error: {message}"))

    def expect(self, kind: str) -> Token:
        """The token wanted here; one too many is skipped, one missing is supplied, as ANTLR does inline."""
        token = self.token
        if token.kind == kind:
            return self.advance()
        if self.peek(1).kind == kind and token.kind != EOF:
            self.syntax_error(token, f"extraneous input '{token.text}' expecting {display(kind)}")
            self.position += 1
            return self.advance()
        if self.follows_close(token.kind) if kind in _CLOSING else kind == ":" and token.kind in _STARTS:
            self.syntax_error(token, f"missing {display(kind)} at '{token.text}'")
            return token
        self.syntax_error(token, f"mismatched input '{token.text}' expecting {display(kind)}")
        raise _Abandoned

    def follows_close(self, kind: str) -> bool:
        if kind == EOF:
            return self.open == 1
        return kind in _BINARY or kind in ("&&", "||", "?", ".", "[")

    def expect_one_of(self, kinds: Iterable[str]) -> None:
        """Report what is not among the kinds; a single stray token is skipped."""
        allowed = frozenset(kinds)
        token = self.token
        if token.kind in allowed:
            return
        names = ", ".join(display(kind) for kind in sorted(allowed, key=ORDER.__getitem__))
        wanted = names if len(allowed) == 1 else f"{{{names}}}"
        if token.kind != EOF and self.peek(1).kind in allowed:
            self.syntax_error(token, f"extraneous input '{token.text}' expecting {wanted}")
            self.position += 1
            return
        self.syntax_error(token, f"mismatched input '{token.text}' expecting {wanted}")

    # Rules

    def start(self) -> Node:
        tree = self.expression()
        token = self.token
        if token.kind != EOF:
            word = "extraneous" if self.peek(1).kind == EOF else "mismatched"
            self.syntax_error(token, f"{word} input '{token.text}' expecting <EOF>")
        return tree

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.issues.append(Issue(-1, f"expression recursion limit exceeded: {MAX_DEPTH}"))
            raise _Abandoned
        result = self.logic("||", "_||_", lambda: self.logic("&&", "_&&_", lambda: self.binary(1)))
        question = self.accept("?")
        if question:
            then = self.logic("||", "_||_", lambda: self.logic("&&", "_&&_", lambda: self.binary(1)))
            self.expect(":")
            result = self.call(question.offset, "_?_:_", None, [result, then, self.expression()])
        self.depth -= 1
        return result

    def logic(self, kind: str, function: str, term: Callable[[], Node]) -> Node:
        first = term()
        if self.token.kind != kind:
            return first
        offset = self.token.offset
        terms = [first]
        while self.accept(kind):
            terms.append(term())
        return Call(offset=offset, function=function, args=terms)

    def binary(self, precedence: int) -> Node:
        left = self.unary()
        while True:
            found = _BINARY.get(self.token.kind)
            if found is None or found[0] < precedence:
                return left
            operator = self.advance()
            left = self.call(operator.offset, found[1], None, [left, self.binary(found[0] + 1)])

    def unary(self) -> Node:
        return self.member(self.primary())

    def prefixed(self, kind: str, function: str) -> Node:
        offset = self.token.offset
        count = 0
        while self.accept(kind):
            count += 1
        operand = self.member(self.primary())
        return self.call(offset, function, None, [operand]) if count % 2 else operand

    def member(self, node: Node) -> Node:
        while True:
            token = self.token
            if token.kind == ".":
                node = self.dotted(node, self.advance())
            elif token.kind == "[":
                self.advance()
                self.open += 1
                self.expect_one_of(_STARTS | {"?"})
                function = "_[?_]" if self.accept("?") else "_[_]"
                index = self.expression()
                self.expect("]")
                self.open -= 1
                node = self.call(token.offset, function, None, [node, index])
            else:
                return node

    def dotted(self, node: Node, dot: Token) -> Node:
        optional = self.accept("?")
        name = self.token
        if name.kind not in _FIELDS:
            if name.kind in ("true", "false", "null") and dot.offset + 1 == name.offset:
                self.syntax_error(name, f"mismatched input '{name.text}' expecting IDENTIFIER")
            else:
                self.not_viable(dot, name)
                if name.kind in _AFTER_MEMBER:  # as ANTLR recovers: without the dot
                    return node
            raise _Abandoned
        self.advance()
        field = self.field_name(name)
        if optional:
            key = Literal(offset=name.offset, value=field)
            return Call(offset=dot.offset, function="_?._", args=[node, key])
        if self.token.kind == "(" and name.kind == "IDENTIFIER":
            opening = self.token
            return self.call(opening.offset, field, node, self.arguments())
        return Select(offset=dot.offset, operand=node, name=field)

    def not_viable(self, dot: Token, token: Token) -> None:
        """A dot, and something that can not follow it: both are shown, with the space between."""
        between = "".join(filter(str.isspace, self.text[dot.offset + 1 : token.offset])).translate(CONTROL)
        shown = "" if token.kind == EOF else between + token.text
        self.syntax_error(token, f"no viable alternative at input '.{shown}'")

    def field_name(self, token: Token) -> str:
        return token.text.strip("`")

    def arguments(self) -> list[Node]:
        self.advance()
        self.open += 1
        args: list[Node] = []
        self.expect_one_of(_STARTS | {")"})
        if self.token.kind != ")":
            args.append(self.expression())
            while self.accept(","):
                args.append(self.expression())
        self.expect(")")
        self.open -= 1
        return args

    # Primaries

    def primary(self) -> Node:
        self.expect_one_of(_STARTS)
        token = self.token
        match token.kind:
            case "(":
                return self.nested()
            case "[":
                return self.list_literal()
            case "{":
                return self.map_literal()
            case "." | "IDENTIFIER":
                return self.named()
            case "!":
                return self.prefixed("!", "!_")
            case "-" if self.peek(1).kind not in ("NUM_INT", "NUM_FLOAT"):
                return self.prefixed("-", "-_")
            case _ if token.kind in _LITERALS or token.kind == "-":
                return self.literal()
        return Literal(offset=token.offset, value=None)

    def nested(self) -> Node:
        self.advance()
        self.open += 1
        node = self.expression()
        self.expect(")")
        self.open -= 1
        return node

    def named(self) -> Node:
        dot = self.accept(".")
        if self.token.kind != "IDENTIFIER":
            if dot:
                self.not_viable(dot, self.token)
            raise _Abandoned
        if self.is_message():
            return self.message("." if dot else "")
        token = self.advance()
        name = f".{token.text}" if dot else token.text
        if token.text in RESERVED:
            self.issues.append(Issue((dot or token).offset, f"reserved identifier: {token.text}"))
        if self.token.kind == "(":
            opening = self.token
            return self.call(opening.offset, name, None, self.arguments())
        return Ident(offset=token.offset, name=name)

    def is_message(self) -> bool:
        distance = 1
        while self.peek(distance).kind == "." and self.peek(distance + 1).kind == "IDENTIFIER":
            distance += 2
        return self.peek(distance).kind == "{"

    def message(self, prefix: str) -> Node:
        name = prefix + self.advance().text
        while self.accept("."):
            name += "." + self.advance().text
        opening = self.advance()
        self.open += 1
        self.expect_one_of(_FIELDS | {"}", ",", "?"})
        entries: list[Entry] = []
        while self.token.kind not in ("}", ","):
            entries.append(self.message_field())
            if not self.another("}"):
                break
        self.end_of_items("}", len(entries))
        return StructExpr(offset=opening.offset, name=name, entries=entries)

    def message_field(self) -> Entry:
        optional = self.accept("?") is not None
        self.expect_one_of(_FIELDS)
        token = self.token
        if token.kind not in _FIELDS:
            raise _Abandoned
        self.advance()
        key = Literal(offset=token.offset, value=self.field_name(token))
        colon = self.expect(":")
        return Entry(offset=colon.offset, key=key, value=self.expression(), optional=optional)

    def another(self, closing: str) -> bool:
        """Whether one more item follows; the comma before it is taken, the one after the last item is not."""
        if self.token.kind != "," or self.peek(1).kind in (closing, ","):
            return False
        self.advance()
        return True

    def end_of_items(self, closing: str, count: int) -> None:
        if count:
            self.expect_one_of((closing, ","))
        self.accept(",")
        self.expect(closing)
        self.open -= 1

    def list_literal(self) -> Node:
        opening = self.advance()
        self.open += 1
        self.expect_one_of(_STARTS | {"]", ",", "?"})
        elements: list[Node] = []
        optional: set[int] = set()
        while self.token.kind not in ("]", ","):
            if self.accept("?"):
                optional.add(len(elements))
            elements.append(self.expression())
            if not self.another("]"):
                break
        self.end_of_items("]", len(elements))
        return ListExpr(offset=opening.offset, elements=elements, optional=frozenset(optional))

    def map_literal(self) -> Node:
        opening = self.advance()
        self.open += 1
        self.expect_one_of(_STARTS | {"}", ",", "?"})
        entries: list[Entry] = []
        while self.token.kind not in ("}", ","):
            optional = self.accept("?") is not None
            key = self.expression()
            colon = self.expect(":")
            entries.append(Entry(offset=colon.offset, key=key, value=self.expression(), optional=optional))
            if not self.another("}"):
                break
        self.end_of_items("}", len(entries))
        return MapExpr(offset=opening.offset, entries=entries)

    def literal(self) -> Node:
        start = self.token
        sign = "-" if self.accept("-") else ""
        token = self.advance()
        value: object = None
        try:
            value = _VALUES[token.kind](sign + token.text)
        except ValueError as error:
            self.issues.append(Issue(start.offset, str(error)))
        return Literal(offset=start.offset, value=value)

    # Calls

    def call(self, offset: int, function: str, target: Node | None, args: list[Node]) -> Node:
        macro = self.macros.get((function, len(args), target is not None))
        if macro is not None:
            try:
                expanded = macro(offset, target, args)
            except MacroError as error:
                self.issues.append(Issue(error.offset, str(error)))
                return Literal(offset=offset, value=None)
            if expanded is not None:
                return expanded
        return Call(offset=offset, function=function, target=target, args=args)


def _checked(value: object, word: str) -> object:
    if value is None:
        raise ValueError(f"invalid {word} literal")
    return value


_VALUES: dict[str, Callable[[str], object]] = {
    "NUM_INT": lambda text: _checked(parse_int(text), "int"),
    "NUM_UINT": lambda text: _checked(parse_uint(text), "uint"),
    "NUM_FLOAT": lambda text: _checked(parse_double(text), "double"),
    "STRING": unquote_string,
    "BYTES": unquote_bytes,
    "true": lambda _: True,
    "false": lambda _: False,
    "null": lambda _: None,
}
