"""What a connection is asked for, as admission sees it: the query, as the kind that upstream makes of it."""

from __future__ import annotations

from functools import partial
from typing import Any

from kapi.api.call import Call
from kapi.api.errors import BadRequest
from kapi.api.fields import go_quote
from kapi.api.objects import Object

_HIGHEST_PORT = (1 << 16) - 1
_FALSE = ("", "false", "0")
_STREAMS = {"stdin": bool, "stdout": bool, "stderr": bool, "tty": bool, "container": str}
_FIELDS: dict[str, dict[str, Any]] = {
    "PodExecOptions": {**_STREAMS, "command": list},
    "PodAttachOptions": _STREAMS,
    "PodPortForwardOptions": {"ports": list[int]},
    "PodProxyOptions": {"path": str},
    "ServiceProxyOptions": {"path": str},
    "NodeProxyOptions": {"path": str},
}


def _options(kind: str, call: Call) -> Object:
    options: Object = {"kind": kind, "apiVersion": "v1"}
    for name, form in _FIELDS[kind].items():
        values = call.params.get(name) or []
        if name == "path" and not values and len(call.info.parts) > 3:
            values = ["/" + "/".join(call.info.parts[3:])]
        if form is list:
            value: Any = values
        elif form is bool:
            value = bool(values) and values[0].lower() not in _FALSE
        elif form is str:
            value = values[0] if values else ""
        else:
            value = [_port(text) for given in values for text in given.split(",")]
        if value:
            options[name] = value
    return options


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        problem = "invalid syntax"
    elif len(text.lstrip("0")) > 5 or int(text) > _HIGHEST_PORT:
        problem = "value out of range"
    else:
        return int(text)
    raise BadRequest(f"cannot convert to []int32: strconv.ParseUint: parsing {go_quote(text)}: {problem}")


EXEC, ATTACH, PORT_FORWARD, POD_PROXY, SERVICE_PROXY, NODE_PROXY = (partial(_options, kind) for kind in _FIELDS)
