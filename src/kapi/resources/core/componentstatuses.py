"""ComponentStatuses: whether the other parts of the control plane answer. Asked anew each time; deprecated."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping

from kapi.api.call import Call
from kapi.api.errors import NotFound
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.api.selectors import parse_field_selector, parse_label_selector
from kapi.registry.resource import Resource, Virtual
from kapi.registry.table import NAME, Column

_PATIENCE = 2.0
# Where upstream's components listen. The store is asked by whoever asks us.
_PORTS: Mapping[str, int] = {"scheduler": 10259, "controller-manager": 10257}
_STORE = "etcd-0"


async def get(_: Call, name: str) -> Object:
    if name not in (*_PORTS, _STORE):
        raise NotFound(GroupResource("", "componentstatus"), name)
    return {"kind": "ComponentStatus", "apiVersion": "v1", **await _status(name)}


async def list_all(call: Call) -> Object:
    """The selectors have been checked."""
    labels = parse_label_selector(_first(call, "labelSelector"))
    fields = parse_field_selector(_first(call, "fieldSelector"))
    names = [n for n in (*_PORTS, _STORE) if fields.matches({"metadata.name": n}) and labels.matches({})]
    items = await asyncio.gather(*map(_status, names))
    return {"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": list(items)}


def _first(call: Call, parameter: str) -> str:
    return (call.params.get(parameter) or [""])[0]


async def _status(name: str) -> Object:
    healthy, message = (True, "ok") if name == _STORE else await _probe(_PORTS[name])
    condition = {"type": "Healthy", "status": "True" if healthy else "False", "message": message}
    return {"metadata": {"name": name}, "conditions": [condition]}


async def _probe(port: int) -> tuple[bool, str]:
    """What a component on this machine says to /healthz."""
    url = f'Get "https://127.0.0.1:{port}/healthz"'
    # As upstream: the certificate is not checked, the component's own word is all that counts.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(_PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            try:
                writer.write(b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
                answer = await reader.read(64 * 1024)
            finally:
                writer.transport.abort()
    except TimeoutError:
        return False, f"{url}: context deadline exceeded"
    except ConnectionRefusedError:
        return False, f"{url}: dial tcp 127.0.0.1:{port}: connect: connection refused"
    except (OSError, ssl.SSLError) as error:
        return False, f"{url}: {error}"
    head, _, body = answer.partition(b"\r\n\r\n")
    text = body.decode("utf-8", "replace")
    return b" 200 " in head.split(b"\r\n", 1)[0] + b" ", text


def _condition(decoded: Object) -> Object:
    return next((c for c in decoded.get("conditions") or [] if c.get("type") == "Healthy"), {})


def _health(decoded: Object) -> str:
    return {"True": "Healthy", "False": "Unhealthy"}.get(_condition(decoded).get("status", ""), "Unknown")


RESOURCE = Resource(
    group="",
    version="v1",
    kind="ComponentStatus",
    virtual=Virtual(get=get, list=list_all),
    deprecated="v1 ComponentStatus is deprecated in v1.19+",
    columns=(
        NAME,
        Column("Status", _health),
        Column("Message", lambda decoded: _condition(decoded).get("message", "")),
        Column("Error", lambda decoded: _condition(decoded).get("error", "")),
    ),
)
