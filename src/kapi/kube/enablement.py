"""Which resources are served: what --runtime-config, the feature gates and the emulated version leave of them.

What is not served is stored all the same: the server's own controllers need not know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kapi.api.features import NEWEST
from kapi.api.gated import RESOURCES
from kapi.registry.resource import Resource

_STAGE = re.compile(r"v\d+(alpha|beta)?")
# Newer than the oldest version that can be emulated, by group, version and plural.
_INTRODUCED: Mapping[tuple[str, str, str], int] = {
    ("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies"): 36,
    ("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicybindings"): 36,
    ("certificates.k8s.io", "v1", "clustertrustbundles"): 37,
    ("certificates.k8s.io", "v1", "podcertificaterequests"): 37,
    ("resource.k8s.io", "v1", "devicetaintrules"): 37,
    ("storagemigration.k8s.io", "v1", "storageversionmigrations"): 37,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Enablement:
    """`forward_compatible` are the two flags of that name: of the emulation, and of what the configuration names."""

    runtime_config: Mapping[str, bool]
    features: Mapping[str, bool]
    emulated: int = NEWEST
    forward_compatible: bool = False
    config_forward_compatible: bool = False

    def serves(self, resource: Resource) -> bool:
        plural = resource.names.plural
        for gate, gated in RESOURCES.items():
            if (resource.group, plural) in gated and not self.features.get(gate, True):
                return False
        named = self._named(resource, plural)
        introduced = _INTRODUCED.get((resource.group, resource.version, plural), 0)
        if introduced > self.emulated and not self.forward_compatible:
            return named is True and self.config_forward_compatible
        return self._staged(resource.version) if named is None else named

    def _named(self, resource: Resource, plural: str) -> bool | None:
        """What the configuration says of the resource, or else of its version."""
        version = f"{resource.group}/{resource.version}"
        said = self.runtime_config.get(f"{version}/{plural}")
        return self.runtime_config.get(version) if said is None else said

    def _staged(self, version: str) -> bool:
        """What it says of all, or of all that are as stable; everything here is served unless it says otherwise."""
        match = _STAGE.match(version)
        stage = match[1] if match is not None and match[1] else "ga"
        return self.runtime_config.get(f"api/{stage}", self.runtime_config.get("api/all", True))
