"""JSON patch (RFC 6902), with the leniencies that API clients have come to rely on.

It differs from the RFC where Kubernetes does: `replace` and `copy` take an absent member of an object for null, `test`
of null holds for what is absent, negative indices count from the end, indices may have leading zeros.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import orjson

from kapi.api.fields import go_quote
from kapi.patch.errors import BadPatch, PatchDoesNotApply, TestDoesNotHold, TooManyOperations
from kapi.patch.values import copied, json_type, same

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024

Operation: TypeAlias = dict[str, Any]
Container: TypeAlias = dict[str, Any] | list[Any]

_INDEX = re.compile(r"[+-]?[0-9]{1,18}").fullmatch


def operations(patch: Any) -> list[Operation]:
    """The operations of a decoded patch; BadPatch (400) or TooManyOperations (413)."""
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise BadPatch(f"json: cannot unmarshal {json_type(patch)} into Go value of type jsonpatch.Patch")
    for operation in patch:
        if not isinstance(operation, dict) and operation is not None:
            raise BadPatch(f"json: cannot unmarshal {json_type(operation)} into Go value of type jsonpatch.Operation")
    if len(patch) > MAX_OPERATIONS:
        raise TooManyOperations(f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}")
    return patch


def mistyped(patch: Any) -> str:
    """The first member that is not of its type, as upstream's strict reading words it; empty when all are."""
    if patch is None:
        return ""
    if not isinstance(patch, list):
        return f"json: cannot unmarshal {json_type(patch)} into Go value of type []handlers.jsonPatchOp"
    for operation in patch:
        if not isinstance(operation, dict) and operation is not None:
            return f"json: cannot unmarshal {json_type(operation)} into Go value of type handlers.jsonPatchOp"
        for name, value in (operation or {}).items():
            if name in ("op", "path", "from") and value is not None and not isinstance(value, str):
                field = f"Go struct field jsonPatchOp.{name} of type string"
                return f"json: cannot unmarshal {json_type(value)} into {field}"
    return ""


def apply(document: Any, patch: Any) -> Any:
    """The document after the patch; PatchDoesNotApply (422) when an operation fails."""
    steps = operations(patch)
    document = copied(document)
    copied_bytes = 0
    for step in steps:
        if step and step.get("op") == "copy":
            copied_bytes += _copy(document, step)
            if copied_bytes > MAX_COPIED_BYTES:
                raise PatchDoesNotApply(
                    "Unable to complete the copy, the accumulated size increase of copy is "
                    f"{copied_bytes}, exceeding the limit {MAX_COPIED_BYTES}"
                )
        else:
            document = _apply(document, step or {})
    return document


def _apply(document: Any, step: Operation) -> Any:
    kind = step.get("op")
    if kind == "replace" and step.get("path") == "":
        return _whole_document(step)
    if kind == "add":
        _add(document, _pointer(step, "path", "add"), copied(step.get("value")), "add")
    elif kind == "remove":
        _remove(document, _pointer(step, "path", "remove"), "remove")
    elif kind == "replace":
        _replace(document, _pointer(step, "path", "replace"), copied(step.get("value")))
    elif kind == "move":
        _move(document, step)
    elif kind == "test":
        _test(document, step)
    else:
        raise PatchDoesNotApply(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
    return document


def _whole_document(step: Operation) -> Any:
    value = step.get("value")
    if not isinstance(value, (dict, list)):
        raise PatchDoesNotApply("replace operation value must be object or array")
    return copied(value)


def _pointer(step: Operation, name: str, kind: str) -> str:
    pointer = step.get(name)
    if not isinstance(pointer, str):
        raise PatchDoesNotApply(f"{kind} operation failed to decode {name}: missing value")
    return pointer


def parts(pointer: str) -> list[str]:
    """The keys and indices that a pointer goes through."""
    return [_unescape(part) for part in pointer.split("/")[1:]] or [pointer]


def _find(document: Any, pointer: str, kind: str) -> tuple[Container, str]:
    """The container that holds what the pointer names, and its key there."""
    parts = pointer.split("/")
    # As upstream's library: only `replace` leaves out the quotes.
    shown = pointer if kind == "replace" else go_quote(pointer)
    missing = PatchDoesNotApply(f"{kind} operation does not apply: doc is missing path: {shown}: missing value")
    if len(parts) < 2:
        raise missing
    for part in parts[1:-1]:
        document = document.get(_unescape(part)) if isinstance(document, dict) else _at(document, part)
        if not isinstance(document, (dict, list)):
            raise missing
    return document, _unescape(parts[-1])


def _at(items: list[Any], part: str) -> Any:
    index = _index(_unescape(part), len(items))
    return items[index] if index is not None else None


def _unescape(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~") if "~" in part else part


def _index(key: str, size: int) -> int | None:
    """The position that a key means in a list of this size; None when it is none."""
    if not _INDEX(key):
        return None
    index = int(key)
    if index < 0:
        index += size
    return index if 0 <= index < size else None


def _position(key: str, size: int, kind: str, pointer: str) -> int:
    index = _index(key, size)
    if index is None:
        raise PatchDoesNotApply(f"error in {kind} for path: '{pointer}': Unable to access invalid index: {key}")
    return index


def _get(container: Container, key: str, kind: str, pointer: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    return container[_position(key, len(container), kind, pointer)]


def _add(document: Any, pointer: str, value: Any, kind: str) -> None:
    container, key = _find(document, pointer, kind)
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_position(key, len(container) + 1, kind, pointer), value)


def _remove(document: Any, pointer: str, kind: str) -> Any:
    container, key = _find(document, pointer, kind)
    if isinstance(container, list):
        return container.pop(_position(key, len(container), kind, pointer))
    if key not in container:
        raise PatchDoesNotApply(
            f"error in {kind} for path: '{pointer}': Unable to remove nonexistent key: {key}: missing value"
        )
    return container.pop(key)


def _replace(document: Any, pointer: str, value: Any) -> None:
    container, key = _find(document, pointer, "replace")
    if isinstance(container, dict):
        container[key] = value
    else:
        container[_position(key, len(container), "replace", pointer)] = value


def _move(document: Any, step: Operation) -> None:
    value = _remove(document, _pointer(step, "from", "move"), "move")
    _add(document, _pointer(step, "path", "move"), value, "move")


def _copy(document: Any, step: Operation) -> int:
    """Copy, and tell how many bytes: a few dozen copies of copies could fill any memory."""
    source = _pointer(step, "from", "copy")
    text = orjson.dumps(_get(*_find(document, source, "copy"), "copy", source))
    _add(document, _pointer(step, "path", "copy"), orjson.loads(text), "copy")
    return len(text)


def _test(document: Any, step: Operation) -> None:
    pointer = _pointer(step, "path", "test")
    found = document if pointer == "" else _get(*_find(document, pointer, "test"), "test", pointer)
    if not same(found, step.get("value")):
        raise TestDoesNotHold(f"testing value {pointer} failed: test failed")
