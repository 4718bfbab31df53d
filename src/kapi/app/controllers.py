"""The controllers in process: those that the options ask for, run as a post-start hook."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from kapi.api.client import Client
from kapi.app.chain import ServerChain
from kapi.options.complete import CompletedOptions
from kapi.server.hooks import HookContext


def add_controllers(chain: ServerChain, completed: CompletedOptions) -> None:
    if completed.controllers:

        async def hook(context: HookContext) -> None:
            context.spawn(_run(chain, completed, context.client), name="controllers")

        chain.server.add_post_start_hook("start-in-process-controllers", hook)


async def _run(chain: ServerChain, completed: CompletedOptions, client: Client) -> None:
    # Imported once the server serves: the start need not wait for them.
    from kapi.admission.quota.counted import evaluators
    from kapi.controllers.context import Context
    from kapi.controllers.election import Election
    from kapi.controllers.informer import Informers
    from kapi.controllers.registry import run
    from kapi.controllers.resources import Resources

    bundle = Path(completed.options.kapi.root_ca_file or completed.cert_file)
    clock = chain.server.config.clock

    async def work() -> None:
        context = Context(
            client=client,
            clock=clock,
            informers=Informers(chain.factory),
            resources=Resources(chain.catalogue, chain.factory, clock),
            versions=chain.services.versions,
            lookup=chain.services.lookup,
            evaluators=evaluators(chain.services.pod_resources, clock),
            root_certificates=bundle.read_text,
        )
        await run(context, completed.controllers)

    if completed.storage_backend == "etcd3":
        await Election(client, clock, f"{socket.gethostname()}_{os.getpid()}").run(work)
    else:
        await work()
