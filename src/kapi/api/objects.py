"""Objects are plain JSON values: unknown fields, custom resources and apply all need that."""

from __future__ import annotations

from typing import Any, NewType, TypeAlias

Object: TypeAlias = dict[str, Any]

# A position in the store's history. It only grows; `resourceVersion` is its decimal form.
Revision = NewType("Revision", int)
