"""Two webhooks as an aiohttp application, in a process of its own: `python -m … CERTIFICATE KEY` prints its port."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import sys
from typing import Any

from aiohttp import web


def _reviewed(review: Any, **response: Any) -> web.Response:
    said = {"uid": review["request"]["uid"], **response}
    return web.json_response({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": said})


async def mutate(request: web.Request) -> web.Response:
    patch = json.dumps([{"op": "add", "path": "/data/by", "value": "webhook"}]).encode()
    encoded = base64.b64encode(patch).decode()
    return _reviewed(await request.json(), allowed=True, patchType="JSONPatch", patch=encoded)


async def validate(request: web.Request) -> web.Response:
    review = await request.json()
    data = review["request"]["object"]["data"]
    return _reviewed(review, allowed=data["by"] == "webhook" and int(data["number"]) % 2 == 0)


async def main(certificate: str, key: str) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    application = web.Application()
    application.router.add_post("/mutate", mutate)
    application.router.add_post("/validate", validate)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
