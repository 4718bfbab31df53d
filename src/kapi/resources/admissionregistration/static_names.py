"""Names that belong to configurations from files: the API does not manage them."""

from __future__ import annotations

from kapi.api.fields import FieldError, invalid
from kapi.api.objects import Object

_SUFFIX = ".static.k8s.io"
_WHY = (
    f'names ending with "{_SUFFIX}" are reserved for static manifest-based configurations '
    "and cannot be managed via the API"
)


def validate_name(new: Object) -> list[FieldError]:
    name = new["metadata"].get("name", "")
    return [invalid("metadata.name", name, _WHY)] if name.endswith(_SUFFIX) else []


def name_warnings(new: Object) -> list[str]:
    return [f"metadata.name: {_WHY}"] if new["metadata"].get("name", "").endswith(_SUFFIX) else []
