"""OpenID discovery of the service account issuer: where others learn which keys verify this cluster's tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from kapi.api.call import Call
from kapi.api.errors import MethodNotAllowed
from kapi.api.objects import Object
from kapi.endpoints.negotiate import check_offered
from kapi.filters.handler import CallHandler
from kapi.server.routes import Routes
from kapi.wire.messages import Response

CONFIGURATION, KEYS = "/.well-known/openid-configuration", "/openid/v1/jwks"
_HOUR = (b"cache-control", b"public, max-age=3600")


class PublishedKey(Protocol):
    algorithm: str

    @property
    def jwk(self) -> Object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerDiscovery:
    """`keys_uri` is where the keys are; `keys` are asked for when somebody asks for them."""

    issuer: str
    keys_uri: str
    keys: Callable[[], Sequence[PublishedKey]]

    def install(self, routes: Routes) -> None:
        routes.exact[CONFIGURATION] = _document("application/json", self._configuration)
        routes.exact[KEYS] = _document("application/jwk-set+json", self._key_set)

    def _configuration(self) -> Object:
        return {
            "issuer": self.issuer,
            "jwks_uri": self.keys_uri,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted({key.algorithm for key in self.keys()}),
        }

    def _key_set(self) -> Object:
        return {"keys": [key.jwk for key in self.keys()]}


def _document(media_type: str, content: Callable[[], Object]) -> CallHandler:
    async def handle(call: Call) -> Response:
        if call.request.method != "GET":
            raise MethodNotAllowed
        check_offered(call.request.headers.get("accept"), media_type)
        return Response(200, [(b"content-type", media_type.encode()), _HOUR], orjson.dumps(content()))

    return handle
