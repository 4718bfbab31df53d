"""Which names, labels and annotations are allowed, and why not: upstream's rules in upstream's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from kapi.api.fields import FieldError, invalid, required, too_long

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + r"(\." + _LABEL + ")*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_QUALIFIED})?"

_is_label = re.compile(_LABEL + r"\Z").match
_is_subdomain = re.compile(_SUBDOMAIN + r"\Z").match
_is_label_1035 = re.compile(_LABEL_1035 + r"\Z").match
_is_qualified = re.compile(_QUALIFIED + r"\Z").match
_is_label_value = re.compile(_LABEL_VALUE + r"\Z").match

TOTAL_ANNOTATION_SIZE = 256 * 1024
_TOO_LONG = "must be no more than"


def _regex_error(message: str, pattern: str, *examples: str) -> str:
    shown = ""
    for i, example in enumerate(examples):
        shown += (" or " if i else "") + f"'{example}', "
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


def max_length(limit: int) -> str:
    return f"{_TOO_LONG} {limit} characters"


def dns_label(name: str) -> list[str]:
    """RFC 1123 label: 63 characters, no dots."""
    errors = [max_length(63)] if len(name.encode()) > 63 else []
    if not _is_label(name):
        message = (
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
            "and must start and end with an alphanumeric character"
        )
        errors.append(
            "must not contain dots" if _is_subdomain(name) else _regex_error(message, _LABEL, "my-name", "123-abc")
        )
    return errors


def dns_subdomain(name: str) -> list[str]:
    """RFC 1123 subdomain: 253 characters."""
    errors = [max_length(253)] if len(name.encode()) > 253 else []
    if not _is_subdomain(name):
        message = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        errors.append(_regex_error(message, _SUBDOMAIN, "example.com"))
    return errors


def short_name(name: str) -> list[str]:
    """dns_label, in the words of declared rules: they count bytes."""
    return [_in_bytes(problem) for problem in dns_label(name)]


def long_name(name: str) -> list[str]:
    """dns_subdomain, in the words of declared rules."""
    return [_in_bytes(problem) for problem in dns_subdomain(name)]


def long_name_caseless(name: str) -> list[str]:
    """dns_subdomain_caseless, in the words of declared rules."""
    return [_in_bytes(problem) for problem in dns_subdomain_caseless(name)]


def _in_bytes(problem: str) -> str:
    return problem.replace("characters", "bytes") if problem.startswith(_TOO_LONG) else problem


def dns_subdomain_caseless(name: str) -> list[str]:
    """The same with capital letters allowed."""
    errors = [max_length(253)] if len(name.encode()) > 253 else []
    if not _is_subdomain(name.lower()):
        message = (
            "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        errors.append(_regex_error(message, _SUBDOMAIN, "Example.com"))
    return errors


def dns_1035_label(name: str) -> list[str]:
    errors = [max_length(63)] if len(name.encode()) > 63 else []
    if not _is_label_1035(name):
        message = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
            "alphabetic character, and end with an alphanumeric character"
        )
        errors.append(_regex_error(message, _LABEL_1035, "my-name", "abc-123"))
    return errors


def path_segment(name: str) -> list[str]:
    """A name that can stand in a URL path: all that any resource demands."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return path_segment_prefix(name)


def path_segment_prefix(name: str) -> list[str]:
    if "/" not in name and "%" not in name:
        return []
    return [f"may not contain '{c}'" for c in "/%" if c in name]


_LONGEST_KEY = 253 + 1 + 63
_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)


def label_key(name: str) -> list[str]:
    """A name with an optional prefix: label and annotation keys, finalizers, condition types."""
    # The same few keys come again and again; those too long to be one are not worth remembering.
    return list(_remembered(name)) if len(name) <= _LONGEST_KEY else _key_problems(name)


@lru_cache(maxsize=4096)
def _remembered(name: str) -> tuple[str, ...]:
    return tuple(_key_problems(name))


def _key_problems(name: str) -> list[str]:
    parts = name.split("/")
    examples = ("MyName", "my.name", "123-abc")
    if len(parts) > 2:
        return [
            _regex_error(f"a valid label key {_NAME_RULE}", _QUALIFIED, *examples)
            + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    errors: list[str] = []
    if len(parts) == 2:
        prefix, name = parts
        if not prefix:
            errors.append("prefix part must be non-empty")
        else:
            if len(prefix.encode()) > 253:
                errors.append("prefix part must be no more than 253 bytes")
            errors += [f"prefix part {e}" for e in dns_subdomain(prefix) if not e.startswith("must be no more")]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        errors.append("name part must be no more than 63 bytes")
    if not _is_qualified(name):
        errors.append(_regex_error(f"name part {_NAME_RULE}", _QUALIFIED, *examples))
    return errors


def label_value(value: str) -> list[str]:
    errors = ["must be no more than 63 bytes"] if len(value.encode()) > 63 else []
    if not _is_label_value(value):
        message = f"a valid label must be an empty string or {_NAME_RULE[5:]}"
        errors.append(_regex_error(message, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return errors


def validate_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += [invalid(path, key, e) for e in label_key(key)]
        errors += [invalid(path, value, e) for e in label_value(value)]
    return errors


def validate_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    size = 0
    for key, value in annotations.items():
        # Keys are compared without case: existing ones have upper-case domains.
        errors += [invalid(path, key, e) for e in label_key(key.lower())]
        size += len(key.encode()) + len(value.encode())
    if size > TOTAL_ANNOTATION_SIZE:
        errors.append(too_long(path, TOTAL_ANNOTATION_SIZE))
    return errors


_is_wildcard = re.compile(r"\*\." + _SUBDOMAIN + r"\Z").match
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_is_http_path = re.compile(_HTTP_PATH + r"\Z").match


def wildcard_subdomain(name: str) -> list[str]:
    """A subdomain whose first label is an asterisk."""
    errors = [max_length(253)] if len(name.encode()) > 253 else []
    if not _is_wildcard(name):
        message = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist "
            "of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
        )
        errors.append(_regex_error(message, r"\*\." + _SUBDOMAIN, "*.example.com"))
    return errors


def validate_domain_prefixed_path(path: str, value: str) -> list[FieldError]:
    """A name of someone's own, such as a controller's: a domain, a slash, a path."""
    if not value:
        return [required(path)]
    host, _, rest = value.partition("/")
    if not host or not rest:
        return [invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(path, host, e) for e in dns_subdomain(host)]
    if not _is_http_path(rest):
        errors.append(invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')"))
    return errors
