"""Label and field selectors against the plainest evaluation of what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.api.selectors import InvalidSelector, parse_field_selector, parse_label_selector, selector_from_object

KEYS = st.sampled_from(["a", "b", "app.kubernetes.io/name", "x.y/z"])
VALUES = st.sampled_from(["", "1", "2", "10", "a", "b", "a.b", "A-1"])
LABELS = st.dictionaries(KEYS, VALUES)
SPACES = st.sampled_from(["", " ", "  ", "\t"])


@dataclass(frozen=True)
class Term:
    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, labels: Mapping[str, str]) -> bool:
        present = self.key in labels
        value = labels.get(self.key)
        return {
            "exists": present,
            "!": not present,
            "=": present and value == self.values[0],
            "==": present and value == self.values[0],
            "!=": not present or value != self.values[0],
            "in": present and value in self.values,
            "notin": not present or value not in self.values,
        }[self.operator]

    def text(self, space: str) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{space}{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({space}{(space + ',').join(self.values)}{space})"
            case _:
                return f"{self.key}{space}{self.operator}{space}{self.values[0]}"


TERMS = st.builds(
    Term,
    KEYS,
    st.sampled_from(["exists", "!", "=", "==", "!=", "in", "notin"]),
    st.lists(VALUES, min_size=1, max_size=4, unique=True).map(tuple),
)


@given(st.lists(TERMS, max_size=4), LABELS, SPACES)
def test_a_label_selector_selects_what_all_its_terms_hold_for(
    terms: list[Term], labels: dict[str, str], space: str
) -> None:
    selector = parse_label_selector(",".join(term.text(space) for term in terms))
    assert selector.matches(labels) == all(term.holds(labels) for term in terms)


@given(st.lists(TERMS, max_size=4), LABELS)
def test_a_label_selector_means_the_same_after_it_was_printed(terms: list[Term], labels: dict[str, str]) -> None:
    selector = parse_label_selector(",".join(term.text("") for term in terms))
    again = parse_label_selector(str(selector))
    assert str(again) == str(selector)
    assert again.matches(labels) == selector.matches(labels)


@given(
    st.sampled_from([">", "<"]), st.integers(-(2**63), 2**63 - 1), st.one_of(st.none(), st.integers().map(str), VALUES)
)
def test_comparisons_are_of_whole_numbers_of_64_bits(operator: str, bound: int, value: str | None) -> None:
    selector = parse_label_selector(f"a{operator}{bound}") if bound >= 0 else None
    if selector is None:  # a value begins with a letter or a digit
        with pytest.raises(InvalidSelector):
            parse_label_selector(f"a{operator}{bound}")
        return
    labels = {} if value is None else {"a": value}
    number = int(value) if value and value.lstrip("-").isdigit() and -(2**63) <= int(value) < 2**63 else None
    wanted = number is not None and (number > bound if operator == ">" else number < bound)
    assert selector.matches(labels) == wanted


@pytest.mark.parametrize("digits", [20, 5000])
def test_a_number_of_many_digits_is_refused(digits: int) -> None:
    with pytest.raises(InvalidSelector, match="the value must be an integer"):
        parse_label_selector("a>" + "9" * digits)


@given(st.text(alphabet="ab/.=!<>(), \tinot1", max_size=20))
def test_any_text_is_a_label_selector_or_refused(text: str) -> None:
    try:
        selector = parse_label_selector(text)
    except InvalidSelector as refused:
        assert str(refused)
    else:
        selector.matches({"a": "b"})


OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


@given(
    st.dictionaries(KEYS, VALUES, max_size=2),
    st.lists(st.tuples(KEYS, st.sampled_from(sorted(OPERATORS)), st.lists(VALUES, min_size=1, max_size=3)), max_size=3),
    LABELS,
)
def test_a_selector_object_holds_for_the_same_labels(
    equal: dict[str, str], expressions: list[tuple[str, str, list[str]]], labels: dict[str, str]
) -> None:
    terms = [Term(key, "=", (value,)) for key, value in equal.items()]
    terms += [Term(key, OPERATORS[operator], tuple(values)) for key, operator, values in expressions]
    given_ = [{"key": key, "operator": operator, "values": values} for key, operator, values in expressions]
    selector = selector_from_object({"matchLabels": equal, "matchExpressions": given_})
    assert selector.matches(labels) == all(term.holds(labels) for term in terms)


FIELDS = st.sampled_from(["metadata.name", "metadata.namespace", "spec.nodeName"])
FIELD_TERMS = st.tuples(FIELDS, st.sampled_from(["=", "==", "!="]), st.text(alphabet="ab,=\\", max_size=4))


@given(st.lists(FIELD_TERMS, max_size=3), st.dictionaries(FIELDS, st.text(alphabet="ab,=\\", max_size=4)))
def test_a_field_selector_selects_what_all_its_terms_hold_for(
    terms: list[tuple[str, str, str]], fields: dict[str, str]
) -> None:
    def escaped(value: str) -> str:
        return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")

    selector = parse_field_selector(",".join(f"{field}{operator}{escaped(value)}" for field, operator, value in terms))
    wanted = all((fields.get(field, "") == value) == (operator != "!=") for field, operator, value in terms)
    assert selector.matches(fields) == wanted
    assert parse_field_selector(str(selector)).matches(fields) == wanted


@pytest.mark.parametrize("text", ["=", "!=", "==", "=,!="])
def test_a_term_that_asks_nothing_of_nothing_holds_for_everything(text: str) -> None:
    assert parse_field_selector(text).matches({"metadata.name": "a"})
    assert str(parse_field_selector(text)) == ""
