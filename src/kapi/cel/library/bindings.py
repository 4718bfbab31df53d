"""`cel.bind(name, value, result)`. Not part of Kubernetes' environment: for environments of our own."""

from __future__ import annotations

from kapi.cel import macros
from kapi.cel.functions import Library


def library() -> Library:
    return Library(macros=macros.BINDINGS)
