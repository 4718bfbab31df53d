"""Walks of objects along their shapes: the fields a configuration sets, and objects with fields taken out."""

from __future__ import annotations

from typing import Any

from kapi.api.objects import Object
from kapi.patch.apply.fieldset import LEAF, Fields, as_member, is_member, ordered
from kapi.patch.apply.shape import ANY, Shape

_NOTHING: Fields = {}


def field_set(obj: Object, shape: Shape) -> Fields:
    """The fields that an object sets: its leaves, the elements of its lists, the members of its maps."""
    return _set(obj, shape) or _NOTHING


def _set(value: Any, shape: Shape) -> Fields | None:
    """The node for a value; None when neither it nor anything in it counts."""
    if shape.leaf:
        return LEAF
    if shape.kind == "list":
        return _set_elements(value, shape)
    if isinstance(value, dict):
        return _set_members(value, shape)
    return LEAF if shape.kind == "any" and value is not None else None


def _set_members(value: Object, shape: Shape) -> Fields | None:
    out: Fields = {}
    for name in sorted(value):
        inner = value[name]
        node = _set(inner, shape.member(name) or ANY)
        if inner is None or inner == {} or not shape.declares(name):
            node = as_member(node or LEAF)
        if node is not None:
            out["f:" + name] = node
    return out or None


def _set_elements(items: Any, shape: Shape) -> Fields | None:
    out: Fields = {}
    for element, same_key in shape.index(items).items():
        out[element] = as_member(_set(same_key[0], shape.element) or LEAF) if len(same_key) == 1 else LEAF
    return ordered(out) or None


def remove_items(value: Any, fields: Fields, shape: Shape) -> Any:
    """The value without these fields. What holds nothing any more becomes null."""
    if not fields:
        return value
    if shape.kind == "scalar" or (shape.kind == "any" and not isinstance(value, dict)):
        return value
    if shape.leaf or not value:
        return None
    if shape.kind == "list":
        return _remove_elements(value, fields, shape)
    out: Object = {}
    for name, inner in value.items():
        node = fields.get("f:" + name)
        if node is None:
            out[name] = inner
        elif not is_member(node):
            out[name] = remove_items(inner, node, shape.member(name) or ANY)
    return out or None


def _remove_elements(items: list[Any], fields: Fields, shape: Shape) -> list[Any] | None:
    out: list[Any] = []
    for item in items:
        node = fields.get(shape.find_element(item) or "")
        if node is None:
            out.append(item)
        elif not is_member(node):
            out.append(remove_items(item, node, shape.element))
    return out or None


def with_named_fields(fields: Fields, shape: Shape) -> Fields:
    """The set with every named field of a type that it has something below of, but not the parents in maps."""
    out: Fields = {}
    for key, node in fields.items():
        if not node:
            out[key] = node
            continue
        name = key[2:]
        if key[0] == "f":
            inner = with_named_fields(node, shape.member(name) or ANY)
            out[key] = as_member(inner) if shape.declares(name) else inner
        elif key[0] == "k" and shape.kind == "list":
            out[key] = with_named_fields(node, shape.element)
        else:
            out[key] = node
    return out


def reconciled(fields: Fields, shape: Shape) -> Fields:
    """The set as today's schema has it: what was owned below something now atomic is owned as that."""
    out: Fields | None = None
    for key, node in fields.items():
        if not node:
            continue
        child = shape.member(key[2:]) if key[0] == "f" else shape.element if shape.kind == "list" else None
        if child is None or child.kind == "any":
            continue
        now = LEAF if child.leaf and child.kind != "scalar" else reconciled(node, child)
        if now is not node:
            if out is None:
                out = dict(fields)
            out[key] = now
    return fields if out is None else out
