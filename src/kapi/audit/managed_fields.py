"""Objects without their managedFields: alone, in lists and in tables."""

from __future__ import annotations

from kapi.api.objects import Object


def without_managed_fields(document: Object) -> Object:
    """A copy as far as it differs."""
    shown = _object(document)
    items, rows = shown.get("items"), shown.get("rows")
    if isinstance(items, list):
        shown = {**shown, "items": [_object(item) for item in items]}
    if isinstance(rows, list) and shown.get("kind") == "Table":
        shown = {
            **shown,
            "rows": [{**row, "object": _object(row["object"])} if row.get("object") else row for row in rows],
        }
    return shown


def _object(obj: Object) -> Object:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}
