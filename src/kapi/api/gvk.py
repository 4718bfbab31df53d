"""Names of API types: groups, versions, kinds, resources."""

from __future__ import annotations

from typing import NamedTuple


class GroupVersion(NamedTuple):
    group: str
    version: str

    def __str__(self) -> str:
        """As `apiVersion` has it: `v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """The group and version of an `apiVersion`; ValueError when it has more than one slash."""
        group, slash, version = api_version.rpartition("/")
        if "/" in group:
            raise ValueError(f"unexpected GroupVersion string: {api_version}")
        return cls(group if slash else "", version)


class GroupResource(NamedTuple):
    group: str
    resource: str

    def __str__(self) -> str:
        """As error messages have it: `pods`, `deployments.apps`."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupKind(NamedTuple):
    group: str
    kind: str

    def __str__(self) -> str:
        """As error messages have it: `Pod`, `Deployment.apps`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupVersionKind(NamedTuple):
    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)


class GroupVersionResource(NamedTuple):
    group: str
    version: str
    resource: str

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)
