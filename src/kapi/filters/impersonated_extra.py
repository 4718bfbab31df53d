"""What is wrong with the extra fields of an identity that is taken in a constrained mode."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kapi.api.fields import go_quote, invalid
from kapi.api.names import dns_subdomain

_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_PATH_RULE = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"


def extra_problem(extra: Mapping[str, tuple[str, ...]]) -> str:
    """Empty when all is well."""
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        why = _key_problem(key)
        if why:
            return f"impersonating an invalid key in extra is not allowed: {why}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {go_quote(key)}"
        if not values:
            return "impersonating empty values in extra is not allowed"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _key_problem(key: str) -> str:
    domain, slash, path = key.partition("/")
    if not slash or not domain or not path:
        return str(invalid("extra.key", key, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    for problem in dns_subdomain(domain):
        return str(invalid("extra.key", domain, problem))
    return "" if _PATH.fullmatch(path) else str(invalid("extra.key", path, _PATH_RULE))
