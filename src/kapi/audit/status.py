"""The Status of a refusal, read back from the response in whatever form it was written."""

from __future__ import annotations

import orjson

from kapi.api.objects import Object
from kapi.wire.messages import Response


def read_status(response: Response) -> Object | None:
    """None where the body is none: the end of the chain, for one, says so in plain text.

    Nor, as upstream, where it is JSON that the client did not ask for, which is indented.
    """
    body = response.body
    if body.startswith(b"{\n"):
        return None
    if body.startswith(b"{"):
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError:
            return None
    elif body.startswith(b"k8s\x00"):
        document = _from_protobuf(body)
    elif (b"content-type", b"application/yaml") in response.headers:
        from kapi.codec.yaml import load  # few failures are told in YAML

        document = load(body)[0]
    else:
        return None
    return document if isinstance(document, dict) and document.get("kind") == "Status" else None


def _from_protobuf(body: bytes) -> Object:
    from kapi.codec.protobuf import Body  # nor in protobuf
    from kapi.schema.loader import META

    read = Body(body)
    if read.kind != "Status":
        return {}
    return {"kind": read.kind, "apiVersion": read.api_version, "metadata": {}, **read.decode(f"{META}.Status")}
