"""Label and field selectors: parsed as upstream parses them, compiled into one predicate.

The grammar, its tolerances and its error texts are those of k8s.io/apimachinery's labels and fields packages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kapi.api.fields import FieldError, invalid, required
from kapi.api.names import label_key, label_value, validate_labels

Predicate: TypeAlias = Callable[[Mapping[str, str]], bool]


class InvalidSelector(ValueError):
    """The selector cannot be understood; the text is the client's answer."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term. Operators: exists, !, in, notin, =, ==, !=, gt, lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "in" | "=" | "==":
                return value in self.values if value is not None else False
            case "notin" | "!=":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        if not _is_int64(value):
            return False
        return int(value) > int(self.values[0]) if self.operator == "gt" else int(value) < int(self.values[0])

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return "!" + self.key
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case "gt" | "lt":
                return f"{self.key}{'>' if self.operator == 'gt' else '<'}{self.values[0]}"
            case _:
                return f"{self.key}{self.operator}{self.values[0]}"


def _is_int64(text: str) -> bool:
    # Python refuses to read thousands of digits: those that count are at most 19.
    match = re.fullmatch(r"([+-]?)0*([0-9]{1,19})", text)
    return match is not None and -(1 << 63) <= int(match[1] + match[2]) < 1 << 63


class LabelSelector:
    """A conjunction of requirements; an empty one selects everything."""

    __slots__ = ("matches", "requirements")

    def __init__(self, requirements: Sequence[Requirement]) -> None:
        self.requirements = tuple(requirements)
        self.matches: Predicate = _compile(self.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _compile(requirements: tuple[Requirement, ...]) -> Predicate:
    if len(requirements) == 1:
        only = requirements[0]
        if only.operator in ("=", "=="):
            key, wanted = only.key, only.values[0]
            return lambda labels: labels.get(key) == wanted
        return only.matches
    return lambda labels: all(r.matches(labels) for r in requirements)


def parse_label_selector(text: str) -> LabelSelector:
    return LabelSelector(_LabelParser(text).parse())


_OPERATORS = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}
_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+)|\Z)")


class _LabelParser:
    """A recursive-descent parser over (is special, text) tokens; the empty text is the end."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[bool, str]] = []
        for match in _TOKEN.finditer(text):
            if match[1]:
                self._tokens.append((True, match[1]))
            elif match[2]:
                self._tokens.append((False, match[2]))
        self._tokens.append((True, ""))
        self._at = 0

    def _peek(self) -> tuple[bool, str]:
        return self._tokens[min(self._at, len(self._tokens) - 1)]

    def _take(self) -> tuple[bool, str]:
        token = self._peek()
        self._at += 1
        return token

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            special, text = self._peek()
            if special and text == "":
                return sorted(requirements, key=lambda r: r.key)
            if special and text != "!":
                raise InvalidSelector(f"found '{text}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except InvalidSelector as error:
                raise InvalidSelector(f"unable to parse requirement: {error}") from None
            special, text = self._take()
            if special and text == "":
                return sorted(requirements, key=lambda r: r.key)
            if not special or text != ",":
                raise InvalidSelector(f"found '{text}', expected: ',' or 'end of string'")
            special, text = self._peek()
            if special and text != "!":
                raise InvalidSelector(f"found '{text}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        special, key = self._take()
        absent = special and key == "!"
        if absent:
            special, key = self._take()
        if special:
            raise InvalidSelector(f"found '{key}', expected: identifier")
        if problems := label_key(key):
            _raise([invalid("<nil>", key, "; ".join(problems))])
        if absent:
            return Requirement(key, "!")
        if self._peek() in ((True, ""), (True, ",")):
            return Requirement(key, "exists")
        _, text = self._take()
        operator = _OPERATORS.get(text)
        if operator is None:
            raise InvalidSelector(f"found '{text}', expected: in, notin, =, ==, !=, gt, lt")
        values = self._values() if operator in ("in", "notin") else {self._exact_value()}
        return new_requirement(key, operator, sorted(values))

    def _exact_value(self) -> str:
        if self._peek() in ((True, ""), (True, ",")):
            return ""
        special, text = self._take()
        if special:
            raise InvalidSelector(f"found '{text}', expected: identifier")
        return text

    def _values(self) -> set[str]:
        special, text = self._take()
        if not special or text != "(":
            raise InvalidSelector(f"found '{text}' expected: '('")
        special, text = self._peek()
        if special and text == ")":
            self._take()
            return {""}
        if special and text != ",":
            raise InvalidSelector(f"found '{text}', expected: ',', ')' or identifier")
        values = self._identifiers()
        special, text = self._take()
        if not special or text != ")":
            raise InvalidSelector(f"found '{text}', expected: ')'")
        return values

    def _identifiers(self) -> set[str]:
        values: set[str] = set()
        while True:
            special, text = self._take()
            if not special:
                values.add(text)
                following = self._peek()
                if following == (True, ")"):
                    return values
                if following != (True, ","):
                    raise InvalidSelector(f"found '{following[1]}', expected: ',' or ')'")
            elif text == ",":
                # A missing identifier, before, between or after commas, is the empty value.
                if not values:
                    values.add("")
                following = self._peek()
                if following == (True, ")"):
                    values.add("")
                    return values
                if following == (True, ","):
                    self._take()
                    values.add("")
            else:
                raise InvalidSelector(f"found '{text}', expected: ',', or identifier")


def new_requirement(key: str, operator: str, values: Sequence[str]) -> Requirement:
    """Checked as labels.NewRequirement checks it."""
    errors: list[FieldError] = []
    if operator in ("in", "notin") and not values:
        errors.append(invalid("values", list(values), "for 'in', 'notin' operators, values set can't be empty"))
    if operator in ("gt", "lt") and not _is_int64(values[0]):
        errors.append(invalid("values[0]", values[0], "for 'Gt', 'Lt' operators, the value must be an integer"))
    for i, value in enumerate(values):
        if problems := label_value(value):
            errors.append(invalid(f"values[{i}][{key}]", value, "; ".join(problems)))
    _raise(errors)
    return Requirement(key, operator, tuple(values))


def _raise(errors: list[FieldError]) -> None:
    if errors:
        texts = list(dict.fromkeys(map(str, errors)))
        raise InvalidSelector(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    field: str
    operator: str  # = or !=
    value: str


class FieldSelector:
    __slots__ = ("requirements",)

    def __init__(self, requirements: Sequence[FieldRequirement]) -> None:
        self.requirements = tuple(requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def matches(self, fields: Mapping[str, str]) -> bool:
        return all((fields.get(r.field, "") == r.value) == (r.operator == "=") for r in self.requirements)

    def exact(self, field: str) -> str | None:
        """The value that the selector demands of a field, when it demands one."""
        for requirement in self.requirements:
            if requirement.field == field and requirement.operator == "=":
                return requirement.value
        return None

    def __str__(self) -> str:
        return ",".join(f"{r.field}{r.operator}{_escape(r.value)}" for r in self.requirements)


def parse_field_selector(text: str) -> FieldSelector:
    requirements = []
    for term in sorted(_split_terms(text)):
        if not term:
            continue
        match = re.match(r"((?:\\.|[^\\=!]|!(?!=))*?)(!=|==|=)", term, re.DOTALL)
        if match is None:
            raise InvalidSelector(f"invalid selector: '{text}'; can't understand '{term}'")
        value = _unescape(term[match.end() :])
        if not match[1] and not value:
            continue  # as upstream: nothing is asked of nothing
        requirements.append(FieldRequirement(match[1], "!=" if match[2] == "!=" else "=", value))
    return FieldSelector(requirements)


def _split_terms(text: str) -> list[str]:
    return re.findall(r"(?:\\.|[^,\\]|\\\Z)+", text, re.DOTALL)


def _escape(value: str) -> str:
    return re.sub(r"([\\,=])", r"\\\1", value)


def _unescape(value: str) -> str:
    if not re.search(r"[\\,=]", value):
        return value
    out: list[str] = []
    characters = iter(value)
    for c in characters:
        if c == "\\":
            following = next(characters, "")
            if following not in ("\\", ",", "="):
                raise InvalidSelector(f"invalid field selector: invalid escape sequence: \\{following}")
            out.append(following)
        elif c in ",=":
            raise InvalidSelector(f"invalid field selector: unescaped character in value: {ord(c)}")
        else:
            out.append(c)
    return "".join(out)


def selector_from_object(selector: Mapping[str, object]) -> LabelSelector:
    """A metav1.LabelSelector as a selector; the caller has validated it."""
    requirements = [Requirement(k, "=", (str(v),)) for k, v in _mapping(selector.get("matchLabels")).items()]
    expressions = selector.get("matchExpressions")
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
    for expression in expressions if isinstance(expressions, list) else ():
        values = tuple(sorted(expression.get("values") or ()))
        requirements.append(Requirement(expression["key"], operators[expression["operator"]], values))
    return LabelSelector(sorted(requirements, key=lambda r: r.key))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def validate_label_selector(selector: Mapping[str, object], path: str) -> list[FieldError]:
    """A metav1.LabelSelector's own rules."""
    errors = validate_labels(
        {k: str(v) for k, v in _mapping(selector.get("matchLabels")).items()}, f"{path}.matchLabels"
    )
    expressions = selector.get("matchExpressions")
    for i, expression in enumerate(expressions if isinstance(expressions, list) else ()):
        at = f"{path}.matchExpressions[{i}]"
        operator, values = expression.get("operator", ""), expression.get("values") or []
        if operator in ("In", "NotIn"):
            if not values:
                errors.append(required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                errors.append(FieldError("FieldValueForbidden", f"{at}.values", detail))
        else:
            errors.append(invalid(f"{at}.operator", operator, "not a valid selector operator"))
        errors += [invalid(f"{at}.key", expression.get("key", ""), e) for e in label_key(expression.get("key", ""))]
        for j, value in enumerate(values):
            errors += [invalid(f"{at}.values[{j}]", value, e) for e in label_value(value)]
    return errors
