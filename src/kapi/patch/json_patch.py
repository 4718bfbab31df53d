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
# Of these pointers it is not said why they can not be read.
_UNEXPLAINED = frozenset({("add", "path"), ("remove", "path"), ("copy", "path")})


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
    if kind == "add":
        pointer = _pointer(step, "path", "add")
        missing = f'add operation does not apply: doc is missing path: "{pointer}"'
        where = f"error in add for path: '{pointer}'"
        _add(document, pointer, copied(step.get("value")), missing=missing, where=where)
    elif kind == "remove":
        _remove(document, _pointer(step, "path", "remove"))
    elif kind == "replace":
        return _replace(document, step)
    elif kind == "move":
        _move(document, step)
    elif kind == "test":
        _test(document, step)
    else:
        raise PatchDoesNotApply(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
    return document


def _pointer(step: Operation, name: str, kind: str) -> str:
    pointer = step.get(name)
    if isinstance(pointer, str):
        return pointer
    why = "missing value"
    if (kind, name) not in _UNEXPLAINED:
        given = f"json: cannot unmarshal {json_type(pointer)} into Go value of type string"
        absent = "operation missing path field" if name == "path" else "operation, missing from field"
        why = f"{absent}: {why}" if pointer is None else given
    raise PatchDoesNotApply(f"{kind} operation failed to decode {name}: {why}")


def parts(pointer: str) -> list[str]:
    """The keys and indices that a pointer goes through."""
    return [_unescape(part) for part in pointer.split("/")[1:]] or [pointer]


def _find(document: Any, pointer: str, missing: str) -> tuple[Container, str]:
    """The container that holds what the pointer names, and its key there; `missing` says what is not there."""
    parts = pointer.split("/")
    if len(parts) < 2:
        raise PatchDoesNotApply(f"{missing}: missing value")
    for part in parts[1:-1]:
        document = document.get(_unescape(part)) if isinstance(document, dict) else _at(document, part)
        if not isinstance(document, (dict, list)):
            raise PatchDoesNotApply(f"{missing}: missing value")
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


def _position(key: str, size: int, where: str) -> int:
    index = _index(key, size)
    if index is not None:
        return index
    if _INDEX(key):
        raise PatchDoesNotApply(f"{where}: Unable to access invalid index: {int(key)}: invalid index referenced")
    raise PatchDoesNotApply(f"{where}: strconv.Atoi: parsing {go_quote(key)}: invalid syntax")


def _get(container: Container, key: str, where: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    return container[_position(key, len(container), where)]


def _add(document: Any, pointer: str, value: Any, *, missing: str, where: str) -> None:
    container, key = _find(document, pointer, missing)
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        if not _INDEX(key):
            where = f"{where}: value was not a proper array index: '{key}'"
        container.insert(_position(key, len(container) + 1, where), value)


def _remove(document: Any, pointer: str) -> None:
    missing = f'remove operation does not apply: doc is missing path: "{pointer}"'
    _take(*_find(document, pointer, missing), f"error in remove for path: '{pointer}'")


def _take(container: Container, key: str, where: str) -> Any:
    if isinstance(container, list):
        return container.pop(_position(key, len(container), where))
    if key not in container:
        raise PatchDoesNotApply(f"{where}: Unable to remove nonexistent key: {key}: missing value")
    return container.pop(key)


def _replace(document: Any, step: Operation) -> Any:
    pointer, value = _pointer(step, "path", "replace"), step.get("value")
    if pointer == "":
        if not isinstance(value, (dict, list)):
            raise PatchDoesNotApply("replace operation value must be object or array")
        return copied(value)
    container, key = _find(document, pointer, f"replace operation does not apply: doc is missing path: {pointer}")
    if isinstance(container, dict):
        container[key] = copied(value)
        return document
    index = _index(key, len(container))
    if index is None:
        raise PatchDoesNotApply(f"replace operation does not apply: doc is missing key: {pointer}: missing value")
    container[index] = copied(value)
    return document


def _move(document: Any, step: Operation) -> None:
    source = _pointer(step, "from", "move")
    container, key = _find(document, source, f"move operation does not apply: doc is missing from path: {source}")
    # As upstream's library: only here the key stands for the path.
    value = _take(container, key, f"error in move for path: '{key}'")
    pointer = _pointer(step, "path", "move")
    missing = f"move operation does not apply: doc is missing destination path: {pointer}"
    _add(document, pointer, value, missing=missing, where=f"error in move for path: '{pointer}'")


def _copy(document: Any, step: Operation) -> int:
    """Copy, and tell how many bytes: a few dozen copies of copies could fill any memory."""
    source = _pointer(step, "from", "copy")
    found = _find(document, source, f"copy operation does not apply: doc is missing from path: {source}")
    text = orjson.dumps(_get(*found, f"error in copy for from: '{source}'"))
    pointer = _pointer(step, "path", "copy")
    missing = f"copy operation does not apply: doc is missing destination path: {pointer}"
    _add(document, pointer, orjson.loads(text), missing=missing, where="error while adding value during copy")
    return len(text)


def _test(document: Any, step: Operation) -> None:
    pointer = _pointer(step, "path", "test")
    if pointer == "":
        found = document
    else:
        holder = _find(document, pointer, f"test operation does not apply: is missing path: {pointer}")
        found = _get(*holder, f"error in test for path: '{pointer}'")
    if not same(found, step.get("value")):
        raise TestDoesNotHold(f"testing value {pointer} failed: test failed")
