"""The admission configuration file: what each plugin is configured with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kapi.api.objects import Object

_VERSIONS = ("apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1")
_KIND = "AdmissionConfiguration"
# As upstream: from the time before there was a kind, two plugins had the whole file to themselves.
_LEGACY = {"imagePolicy": "ImagePolicyWebhook", "podNodeSelectorPluginConfig": "PodNodeSelector"}


class ConfigurationError(ValueError):
    """A configuration cannot be used; the message says why."""


def load(path: Path) -> Mapping[str, Object]:
    """Each plugin's configuration, by the plugin's name."""
    document = read(path)
    if document.get("kind") is None and document.get("apiVersion") is None:
        legacy = {plugin: document for field, plugin in _LEGACY.items() if field in document}
        if not legacy:
            raise ConfigurationError(f"unable to load AdmissionConfiguration from {path}: Object 'Kind' is missing")
        return legacy
    if document.get("apiVersion") not in _VERSIONS or document.get("kind") != _KIND:
        what = f'kind "{document.get("kind")}" in version "{document.get("apiVersion")}"'
        raise ConfigurationError(f"unable to load AdmissionConfiguration from {path}: no {what} is known")
    found: dict[str, Object] = {}
    for item in _plugins(document, path):
        if item.get("configuration") is not None:
            found[item["name"]] = item["configuration"]
        elif item.get("path"):
            # Relative to the file that names it.
            found[item["name"]] = read(path.parent / item["path"])
    return found


def _plugins(document: Object, path: Path) -> list[Object]:
    items = document.get("plugins") or []
    if not isinstance(items, list) or not all(isinstance(i, dict) and isinstance(i.get("name"), str) for i in items):
        raise ConfigurationError(f"unable to load AdmissionConfiguration from {path}: every plugin needs a name")
    return items


def read(path: Path) -> Object:
    from kapi.codec.yaml import YAMLError
    from kapi.codec.yaml import load as load_yaml  # only where there is a configuration

    try:
        document: Any = load_yaml(path.read_bytes())[0]
    except OSError as error:
        raise ConfigurationError(f"unable to read admission control configuration from {path}: {error}") from None
    except YAMLError as error:
        raise ConfigurationError(f"unable to decode {path}: {error}") from None
    if not isinstance(document, dict):
        raise ConfigurationError(f"unable to decode {path}: it is no object")
    return document


def check_kind(configuration: Object, kind: str, versions: tuple[str, ...]) -> None:
    """A plugin's configuration names what it is."""
    given = (configuration.get("apiVersion"), configuration.get("kind"))
    if given[1] != kind or given[0] not in versions:
        raise ConfigurationError(f'no kind "{given[1]}" is registered for version "{given[0]}"')
