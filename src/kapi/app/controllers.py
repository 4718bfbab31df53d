"""The controllers in process: those that the options ask for, run as a post-start hook."""

from __future__ import annotations

from pathlib import Path

from kapi.app.chain import ServerChain
from kapi.options.complete import CompletedOptions
from kapi.server.hooks import HookContext


def add_controllers(chain: ServerChain, completed: CompletedOptions) -> None:
    asked = completed.options.kapi.in_process_controllers
    if not asked:
        return

    from kapi.controllers.registry import controllers, run  # only where they are asked for

    bundle = Path(completed.options.kapi.root_ca_file or completed.cert_file)
    known = controllers(chain.catalogue, chain.server.config.clock, bundle.read_text)
    chosen = [start for name, start in known.items() if name in asked or "all" in asked]

    async def hook(context: HookContext) -> None:
        context.spawn(run(context.client, chosen), name="controllers")

    chain.server.add_post_start_hook("start-in-process-controllers", hook)
