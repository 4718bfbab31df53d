"""Content negotiation: in which form an answer is written, from the Accept header."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kapi.api.errors import NotAcceptable

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
_ACCEPTED = f"only the following media types are accepted: {JSON}, {YAML}, {PROTOBUF}"
_OFFERED = f"406: Not Acceptable\n\nAvailable representations: {JSON}, {YAML}, {PROTOBUF}"
_STREAMS = f", {JSON};stream=watch, {PROTOBUF};stream=watch"
_STREAMED = f"only the following media types are accepted: {JSON};stream=watch, {PROTOBUF};stream=watch"
_ROUTED = (JSON, YAML, PROTOBUF, "*/*")
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
def negotiate(
    accept: str | None,
    *,
    listed: bool = False,
    routed: bool = True,
    binary: bool = True,
    transforming: bool = True,
    tables: bool = True,
) -> Form:
    """The first acceptable form, best quality first; NotAcceptable when there is none.

    A route matches media types by the letter before anything is negotiated; one of lists tells of streams as well.
    Custom resources, and what the aggregator answers by itself, are not `routed`. Without `binary` there is no
    protobuf: custom resources have no messages. What is not `transforming` is shown as it is: discovery, and failures.
    Without `tables` there is no way to show what is answered as one.
    """
    if not accept or not accept.strip():
        return PLAIN
    clauses = _parse(accept)
    if routed and not any(c.media_type in _ROUTED for c in clauses):
        raise NotAcceptable(_OFFERED + (_STREAMS if listed else ""), details={})
    for clause in clauses:
        form = _form(clause)
        if form is None or (form.transform and not transforming):
            continue
        if form.transform == "Table" and not tables:
            continue
        if binary or form.media_type != PROTOBUF:
            return form
    raise NotAcceptable(_ACCEPTED)


@lru_cache(maxsize=256)
def negotiate_stream(accept: str | None, *, binary: bool = True) -> Form:
    """The same for a watch, which has been negotiated like a list before: there are no streams of YAML."""
    if not accept or not accept.strip():
        return PLAIN
    for clause in _parse(accept):
        form = _form(clause)
        if form is not None and form.media_type != YAML and (binary or form.media_type != PROTOBUF):
            return form
    raise NotAcceptable(_STREAMED)


def _parse(accept: str) -> list[_Clause]:
    clauses = []
    for part in accept.split(","):
        media_type, *raw = (p.strip() for p in part.split(";"))
        params = dict(p.split("=", 1) for p in raw if p.partition("=")[2])
        try:
            quality = float(params.pop("q", "1"))
        except ValueError:
            quality = 1.0
        clauses.append(_Clause(quality, media_type, params))
    return sorted(clauses, key=lambda c: -c.quality)


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


def check_offered(accept: str | None, media_type: str) -> None:
    """For what is written in one form only: NotAcceptable unless the client takes it."""
    if not accept or not accept.strip():
        return
    if not any(clause.media_type in (media_type, "*/*") for clause in _parse(accept)):
        raise NotAcceptable(f"406: Not Acceptable\n\nAvailable representations: {media_type}", details={})
