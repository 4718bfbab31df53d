"""YAML in, as sigs.k8s.io/yaml reads it: YAML 1.1 scalars, string keys, the first document alone.

Values are built from the C parser's events on our own stack. So nesting cannot exhaust Python's, aliases are counted
before they are copied, and duplicate keys are known by their line. `yaml_dump` is the way out.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, cast

from kapi.codec.json_syntax import MAX_DEPTH
from kapi.codec.yaml_scalars import Bad, resolve, text_of_key

# How many nodes a document's aliases may stand for.
_MAX_ALIASED = 100_000


class YAMLError(ValueError):
    """The text is no YAML, or none that has a JSON form; the message is upstream's."""


class _Container:
    """A mapping or sequence that is being read."""

    __slots__ = ("anchor", "is_mapping", "key", "key_line", "nodes", "value", "waits_for_value")

    def __init__(self, anchor: str | None, *, is_mapping: bool) -> None:
        self.anchor = anchor
        self.is_mapping = is_mapping
        self.value: Any = {} if is_mapping else []
        self.key: Any = None
        self.key_line = 0
        self.waits_for_value = False
        self.nodes = 1


class _Builder:
    """Takes a document's events, gives its value."""

    def __init__(self) -> None:
        self.stack: list[_Container] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.open_anchors: list[str] = []
        self.aliased = 0
        self.duplicates: list[str] = []
        self.root: Any = None

    def open(self, anchor: str | None, *, is_mapping: bool) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise YAMLError("yaml: exceeded max depth")
        self.stack.append(_Container(anchor, is_mapping=is_mapping))
        if anchor is not None:
            self.open_anchors.append(anchor)

    def close(self, line: int) -> None:
        container = self.stack.pop()
        if container.is_mapping:
            # As upstream, which turns it into JSON text first: what is wrong is found in the order of the keys.
            container.value = dict(sorted(container.value.items()))
        if container.anchor is not None:
            self.open_anchors.remove(container.anchor)
        self.add(container.value, container.anchor, line, container.nodes)

    def alias(self, name: str, line: int) -> None:
        if name in self.open_anchors:
            raise YAMLError(f"yaml: anchor '{name}' value contains itself")
        if name not in self.anchors:
            raise YAMLError(f"yaml: unknown anchor '{name}' referenced")
        value, nodes = self.anchors[name]
        self.aliased += nodes
        if self.aliased > _MAX_ALIASED:
            raise YAMLError("yaml: document contains excessive aliasing")
        self.add(deepcopy(value), None, line, nodes)

    def add(self, value: Any, anchor: str | None, line: int, nodes: int = 1, *, is_merge: bool = False) -> None:
        """A complete node: the root, an element, a key or a key's value."""
        if anchor is not None:
            self.anchors[anchor] = value, nodes
        if not self.stack:
            self.root = value
            return
        parent = self.stack[-1]
        parent.nodes += nodes
        if not parent.is_mapping:
            parent.value.append(value)
        elif not parent.waits_for_value:
            parent.key, parent.waits_for_value = (_MERGE if is_merge else value), True
        else:
            parent.waits_for_value = False
            self._member(parent, value, line)

    def _member(self, parent: _Container, value: Any, line: int) -> None:
        if parent.key is _MERGE:
            self._merge(parent, value)
            return
        try:
            key, shown = text_of_key(parent.key)
        except Bad as bad:
            raise YAMLError(str(bad)) from None
        if key in parent.value:
            self.duplicates.append(f"line {line + 1}: key {shown} already set in map")
        parent.value[key] = value

    def _merge(self, parent: _Container, value: Any) -> None:
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise YAMLError("yaml: map merge requires map or sequence of maps as the value")
        for source in reversed(sources):
            parent.value.update(deepcopy(source))


_MERGE = object()


def load(data: bytes) -> tuple[Any, str]:
    """The JSON value of a text's first document, and what strict reading holds against it (empty if nothing)."""
    import yaml  # a slow import that few requests need

    builder = _Builder()
    parser = yaml.CSafeLoader(data)
    try:
        while not isinstance(event := cast(Any, parser.get_event()), (yaml.DocumentEndEvent, yaml.StreamEndEvent)):
            line = event.start_mark.line
            if isinstance(event, yaml.ScalarEvent):
                plain = event.style is None or event.style == ""
                value = resolve(event.value, event.tag, is_plain=plain)
                builder.add(value, event.anchor, line, is_merge=plain and event.tag is None and event.value == "<<")
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                builder.open(event.anchor, is_mapping=isinstance(event, yaml.MappingStartEvent))
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                builder.close(line)
            elif isinstance(event, yaml.AliasEvent):
                builder.alias(cast(str, event.anchor), line)
    except yaml.YAMLError as error:
        raise YAMLError(_message(error)) from None
    except Bad as bad:
        raise YAMLError(str(bad)) from None
    finally:
        parser.dispose()
    problem = "yaml: unmarshal errors:\n  " + "\n  ".join(builder.duplicates) if builder.duplicates else ""
    return builder.root, problem


def _message(error: Any) -> str:
    """A parser's failure in go-yaml's form."""
    from yaml.scanner import ScannerError

    problem = getattr(error, "problem", None) or getattr(error, "reason", None)
    mark, context = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    line = 0
    if mark is not None and mark.line:
        line = mark.line + isinstance(error, ScannerError)
    elif context is not None and context.line:
        line = context.line
    where = f"line {line}: " if line else ""
    return f"yaml: {where}{problem or 'unknown problem parsing YAML content'}"
