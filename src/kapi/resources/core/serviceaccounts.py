"""ServiceAccounts: identities for what runs in pods."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import OnCreate, Strategy
from kapi.registry.table import AGE, NAME


def prepare_for_create(_: Call, new: Object) -> None:
    """Secrets are listed by controllers, not by whoever creates the account."""
    new.pop("secrets", None)


_prepare: OnCreate = prepare_for_create

RESOURCE = Resource(
    group="",
    version="v1",
    kind="ServiceAccount",
    strategy=Strategy(prepare_for_create=_prepare),
    columns=(NAME, AGE),
)
