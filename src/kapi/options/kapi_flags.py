"""Kapi flags: what upstream has no flag for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kapi.controllers.names import chosen
from kapi.options import checks
from kapi.options.flag import flag
from kapi.options.kinds import STRING, STRING_TO_STRING, STRINGS


@dataclass(kw_only=True, eq=False, repr=False)
class KapiOptions:
    """The kapi flags, with their defaults."""

    section: ClassVar[str] = "kapi"

    data_dir: str = flag(
        STRING,
        "Where the embedded store keeps its files. Unset: 'kapi' in the user's data directory.",
    )

    in_process_controllers: tuple[str, ...] = flag(
        STRINGS,
        "Controllers to run inside the server, where no controller manager does: all, or kube-controller-manager's "
        "names of some (namespace-controller, garbage-collector-controller). A name that is not among them is refused "
        "with those that are.",
    )
    root_ca_file: str = flag(
        STRING,
        "The certificates that every namespace is given as kube-root-ca.crt. Unset: --tls-cert-file.",
        check=checks.certificates,
    )

    conversion_function: Mapping[str, str] = flag(
        STRING_TO_STRING,
        "Python functions that convert custom resources between their versions, in place of a webhook: pairs of a "
        "definition's name and a function, as in widgets.example.com=package.module:function.",
    )

    def validate(self) -> list[str]:
        try:
            chosen(self.in_process_controllers)
        except ValueError as error:
            return [f"--in-process-controllers: {error}"]
        return []
