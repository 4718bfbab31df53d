"""Tokens and certificates that a node asks for: for pods that run on it, and of a kind that they use."""

from __future__ import annotations

from collections.abc import AsyncIterator

from kapi.admission.lookup import Lookup, decoded
from kapi.admission.node.mirror_pods import MIRROR
from kapi.admission.refusal import Failed, forbidden
from kapi.admission.resources import (
    CSI_DRIVERS,
    LISTED_POD,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    SERVICE_ACCOUNTS,
)
from kapi.api.authorizer import Authorizer, Decision
from kapi.api.errors import NotFound
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.registry.attributes import Attributes


class NodeTokens:
    def __init__(self, lookup: Lookup, authorizer: Authorizer) -> None:
        self._lookup = lookup
        self._authorizer = authorizer

    async def check_token(self, attributes: Attributes, node: str) -> None:
        spec = (attributes.object or {}).get("spec") or {}
        bound = spec.get("boundObjectRef") or {}
        if (bound.get("apiVersion"), bound.get("kind")) != ("v1", "Pod") or not bound.get("name"):
            raise forbidden(attributes, "node requested token not bound to a pod")
        uid = bound.get("uid") or ""
        if not uid:
            raise forbidden(attributes, "node requested token with a pod binding without a uid")
        pod = await self._pod(attributes.namespace, bound["name"])
        if pod["metadata"].get("uid") != uid:
            why = (
                f"the UID in the bound object reference ({uid}) does not match the UID in record. The object might "
                "have been deleted and then recreated"
            )
            raise forbidden(attributes, why)
        if pod["spec"].get("nodeName") != node:
            raise forbidden(attributes, "node requested token bound to a pod scheduled on a different node")
        await self._check_audience(attributes, pod, spec.get("audiences") or [])

    async def _pod(self, namespace: str, name: str) -> Object:
        entry = await self._lookup.get(PODS, namespace, name)
        if entry is None:
            raise NotFound(LISTED_POD, name)
        return decoded(entry)

    async def _check_audience(self, attributes: Attributes, pod: Object, audiences: list[str]) -> None:
        if len(audiences) > 1:
            raise forbidden(attributes, "node may only request 0 or 1 audiences")
        audience = audiences[0] if audiences else ""
        async for known in self._audiences(pod):
            if known == audience:
                return
        verb = "request-serviceaccounts-token-audience"
        if not await self._may(attributes, verb, audience, attributes.name):
            user = attributes.call.user.name
            raise forbidden(attributes, f'{user} is not authorized to request tokens for audience "{audience}"')

    async def _audiences(self, pod: Object) -> AsyncIterator[str]:
        """Of the tokens that a pod's volumes hold, and that its volumes' drivers ask for."""
        namespace, name = pod["metadata"].get("namespace", ""), pod["metadata"]["name"]
        for volume in pod["spec"].get("volumes") or ():
            for source in (volume.get("projected") or {}).get("sources") or ():
                if source.get("serviceAccountToken") is not None:
                    yield source["serviceAccountToken"].get("audience") or ""
            driver = (volume.get("csi") or {}).get("driver", "")
            claim = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
            if volume.get("ephemeral") is not None:
                claim = f"{name}-{volume['name']}"
            if claim:
                driver = await self._driver(namespace, claim)
            if driver and (entry := await self._lookup.get(CSI_DRIVERS, "", driver)) is not None:
                for request in decoded(entry).get("spec", {}).get("tokenRequests") or ():
                    yield request.get("audience") or ""

    async def _driver(self, namespace: str, claim: str) -> str:
        entry = await self._lookup.get(PERSISTENT_VOLUME_CLAIMS, namespace, claim)
        volume = decoded(entry).get("spec", {}).get("volumeName") if entry is not None else ""
        found = await self._lookup.get(PERSISTENT_VOLUMES, "", volume) if volume else None
        return "" if found is None else (decoded(found).get("spec", {}).get("csi") or {}).get("driver", "")

    async def _may(self, attributes: Attributes, verb: str, resource: str, name: str) -> bool:
        wanted = RequestInfo("", verb)
        wanted.is_resource_request = True
        wanted.api_group, wanted.api_version, _ = attributes.resource
        wanted.resource, wanted.namespace, wanted.name = resource, attributes.namespace, name
        verdict = await self._authorizer.authorize(attributes.call.user, wanted)
        return verdict.decision is Decision.ALLOW

    # Certificates

    async def check_certificate(self, attributes: Attributes, node: str) -> None:
        spec = (attributes.object or {}).get("spec") or {}
        named = spec.get("nodeName", "")
        if named != node:
            why = f'PodCertificateRequest.Spec.NodeName="{named}", which is not the requesting node "{node}"'
            raise forbidden(attributes, why)
        place = f"{attributes.namespace}/{spec.get('podName', '')}"
        found = await self._named(NODES, "", node, f'node "{node}"')
        if found["metadata"].get("uid") != spec.get("nodeUID"):
            raise Failed(
                f'PodCertificateRequest for pod "{place}" names node UID "{spec.get("nodeUID", "")}", inconsistent '
                f'with the running node ("{found["metadata"].get("uid", "")}")'
            )
        pod = await self._certified_pod(attributes, spec, place)
        await self._check_account(attributes, spec, pod, place)
        await self._check_signer(attributes, spec, pod, place)

    async def _certified_pod(self, attributes: Attributes, spec: Object, place: str) -> Object:
        pod = await self._named(PODS, attributes.namespace, spec.get("podName", ""), f'pod "{place}"')
        if pod["metadata"].get("uid") != spec.get("podUID"):
            raise Failed(
                f'PodCertificateRequest for pod "{place}" contains pod UID ("{spec.get("podUID", "")}") which differs '
                f'from running pod "{pod["metadata"].get("uid", "")}"'
            )
        if pod["spec"].get("nodeName") != spec.get("nodeName"):
            why = f'pod "{place}" is not running on node "{spec.get("nodeName", "")}"'
            raise forbidden(attributes, f"{why} named in the PodCertificateRequest")
        if MIRROR in (pod["metadata"].get("annotations") or {}):
            raise forbidden(attributes, f'pod "{place}" is a mirror pod')
        return pod

    async def _check_account(self, attributes: Attributes, spec: Object, pod: Object, place: str) -> None:
        named, running = spec.get("serviceAccountName", ""), pod["spec"].get("serviceAccountName", "")
        if named != running:
            why = (
                f'PodCertificateRequest for pod "{place}" contains serviceAccountName ("{named}") that differs from '
                f'running pod ("{running}")'
            )
            raise forbidden(attributes, why)
        whole = f'service account "{attributes.namespace}/{named}"'
        account = await self._named(SERVICE_ACCOUNTS, attributes.namespace, named, whole)
        if account["metadata"].get("uid") != spec.get("serviceAccountUID"):
            raise Failed(
                f'PodCertificateRequest for pod "{place}" names service account UID '
                f'"{spec.get("serviceAccountUID", "")}", which differs from the running service account '
                f'("{account["metadata"].get("uid", "")}")'
            )

    async def _check_signer(self, attributes: Attributes, spec: Object, pod: Object, place: str) -> None:
        signer = spec.get("signerName", "")
        for volume in pod["spec"].get("volumes") or ():
            for source in (volume.get("projected") or {}).get("sources") or ():
                if (source.get("podCertificate") or {}).get("signerName") == signer:
                    return
        verb = "request-serviceaccounts-podcertificate-signer"
        if not await self._may(attributes, verb, signer.replace("/", ":"), spec.get("serviceAccountName", "")):
            why = f'pod "{place}" does not mount a podCertificate projected volume for signer "{signer}"'
            raise forbidden(attributes, why)

    async def _named(self, resource: GroupResource, namespace: str, name: str, shown: str) -> Object:
        entry = await self._lookup.get(resource, namespace, name) if name else None
        if entry is None:
            why = NotFound(resource, name).message
            raise Failed(f"while retrieving {shown} named in the PodCertificateRequest: {why}")
        return decoded(entry)
