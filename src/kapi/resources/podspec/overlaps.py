"""Files of one volume that would cover each other."""

from __future__ import annotations

from collections.abc import Iterator

from kapi.api.objects import Object
from kapi.resources.podspec.context import API_ACCESS

_NAMES = (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName"), ("downwardAPI", "DownwardAPI", ""))
_CERTIFICATE_PATHS = (
    ("certificateChainPath", "PodCertificate chain"),
    ("keyPath", "PodCertificate key"),
    ("credentialBundlePath", "PodCertificate credential bundle"),
)


def overlap_warnings(volumes: list[Object]) -> list[str]:
    found: list[str] = []
    for volume in volumes:
        name = volume.get("name") or ""
        for kind, shown, field in _NAMES:
            source = volume.get(kind)
            if source and source.get("items"):
                what = f'{shown} "{source.get(field) or ""}"' if field else shown
                files = [(item.get("path") or "", "") for item in source["items"]]
                found += [f'volume "{name}" ({what}): overlapping paths: {text}' for text in _overlaps(files)]
        projected = volume.get("projected")
        if projected and projected != API_ACCESS:
            files = []
            for source in projected.get("sources") or ():
                if not any(value is not None for value in source.values()):
                    found.append(f'volume "{name}" (Projected) has no sources provided')
                files += _projected_files(source)
            found += [f'volume "{name}" (Projected): overlapping paths: {text}' for text in _overlaps(files)]
    return found


def _projected_files(source: Object) -> Iterator[tuple[str, str]]:
    """Of the first kind of source that is set: path and where it comes from."""
    for kind, shown in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        inner = source.get(kind)
        if inner and inner.get("items"):
            what = shown if kind == "downwardAPI" else f'{shown} "{inner.get("name") or ""}"'
            yield from ((item.get("path") or "", what) for item in inner["items"])
            return
    if source.get("serviceAccountToken") is not None:
        yield source["serviceAccountToken"].get("path") or "", "ServiceAccountToken"
    elif source.get("clusterTrustBundle") is not None:
        bundle = source["clusterTrustBundle"]
        name = bundle["name"] if bundle.get("name") is not None else bundle.get("signerName")
        yield bundle.get("path") or "", f'ClusterTrustBundle "{name}"'
    elif source.get("podCertificate") is not None:
        for field, what in _CERTIFICATE_PATHS:
            if source["podCertificate"].get(field):
                yield source["podCertificate"][field], what


def _overlaps(files: list[tuple[str, str]]) -> Iterator[str]:
    seen: list[tuple[str, str]] = []
    for full, what in files:
        path = full.rstrip("/")
        if path:
            for other, origin in seen:
                if f"{other}/".startswith(f"{path}/") or f"{path}/".startswith(f"{other}/"):
                    yield f"{_shown(path, what)} with {_shown(other, origin)}"
            seen.append((path, what))


def _shown(path: str, what: str) -> str:
    return f'"{path}" ({what})' if what else f'"{path}"'
