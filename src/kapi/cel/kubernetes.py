"""Kubernetes' base environment: the libraries that every expression of v1.37 may use."""

from __future__ import annotations

from functools import lru_cache

from kapi.cel.environment import Environment
from kapi.cel.functions import Library
from kapi.cel.library import (
    authorizer,
    comprehensions,
    lists,
    named_formats,
    network,
    optionals,
    quantity,
    regex,
    semver,
    sets,
    standard,
    strings,
    urls,
)


def libraries() -> tuple[Library, ...]:
    return (
        standard.library(),
        urls.library(),
        regex.library(),
        authorizer.library(),
        optionals.library(),
        quantity.library(),
        strings.library(),
        sets.library(),
        network.ip_library(),
        network.cidr_library(),
        named_formats.library(),
        comprehensions.library(),
        semver.library(),
        lists.extended(),
        lists.kubernetes(),
    )


@lru_cache(maxsize=1)
def base_environment() -> Environment:
    """With no variables: extend it. It is made once, on first use."""
    return Environment({}, libraries())
