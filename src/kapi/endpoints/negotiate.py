"""Content negotiation: in which form an answer is written, from the Accept header."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kapi.api.errors import NotAcceptable

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
_ACCEPTED = f"only the following media types are accepted: {JSON}, {YAML}, {PROTOBUF}"
_OFFERED = f"406: Not Acceptable\n\nAvailable representations: {JSON}, {YAML}, {PROTOBUF}"
_STREAMS = f", {JSON};stream=watch, {PROTOBUF};stream=watch"
_TRANSFORMS = frozenset(("Table", "PartialObjectMetadata", "PartialObjectMetadataList"))


class Form(NamedTuple):
    """How an answer is written: its media type, and what it is turned into before (empty: as it is)."""

    media_type: str = JSON
    transform: str = ""
    version: str = ""  # of the transform's API group, meta.k8s.io

    @property
    def api_version(self) -> str:
        return f"meta.k8s.io/{self.version}"


PLAIN = Form()


class _Clause(NamedTuple):
    quality: float
    media_type: str
    params: dict[str, str]


@lru_cache(maxsize=256)
def negotiate(accept: str | None, *, streaming: bool = False, binary: bool = True, tables: bool = True) -> Form:
    """The first acceptable form, best quality first; NotAcceptable when there is none.

    Without `binary` there is no protobuf: custom resources have no messages. Without `tables` there is no way to show
    what is answered as one.
    """
    if not accept or not accept.strip():
        return PLAIN
    clauses = _parse(accept)
    if not any(_offered(c) for c in clauses):
        raise NotAcceptable(_OFFERED + (_STREAMS if streaming else ""), details={})
    for clause in clauses:
        form = _form(clause)
        if form is None or (streaming and form.media_type == YAML) or (form.media_type == PROTOBUF and not binary):
            continue
        if form.transform == "Table" and not tables:
            continue
        return form
    raise NotAcceptable(_ACCEPTED)


def _parse(accept: str) -> list[_Clause]:
    clauses = []
    for part in accept.split(","):
        media_type, *raw = (p.strip() for p in part.split(";"))
        params = dict(p.partition("=")[::2] for p in raw if p)
        try:
            quality = float(params.pop("q", "1"))
        except ValueError:
            quality = 1.0
        clauses.append(_Clause(quality, media_type.lower(), params))
    return sorted(clauses, key=lambda c: -c.quality)


def _offered(clause: _Clause) -> bool:
    return clause.media_type in (JSON, YAML, PROTOBUF, "*/*", "application/*")


def _form(clause: _Clause) -> Form | None:
    if clause.media_type in (JSON, "*/*", "application/*"):
        media_type = JSON
    elif clause.media_type in (YAML, PROTOBUF):
        media_type = clause.media_type
    else:
        return None
    params = clause.params
    if params.get("stream", "watch") != "watch":
        return None
    if not params.keys() & {"as", "v", "g"}:
        return Form(media_type)
    kind, version = params.get("as", ""), params.get("v", "")
    if kind not in _TRANSFORMS or params.get("g") != "meta.k8s.io" or version not in ("v1", "v1beta1"):
        return None
    # As upstream: a table's cells have no protobuf.
    if kind == "Table" and media_type == PROTOBUF:
        return None
    return Form(media_type, kind, version)
