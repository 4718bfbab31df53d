"""Admission flags: the plugins that see an object before it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kapi.admission.configuration import ConfigurationError, load
from kapi.admission.order import KNOWN, REMOVED, Registration, enabled_plugins
from kapi.api.objects import Object
from kapi.options.flag import flag
from kapi.options.kinds import INT, STRING, STRINGS


def _known(values: tuple[str, ...]) -> str | None:
    for value in values:
        if value in REMOVED:
            return f'plugin "{value}" is unknown: {REMOVED[value]}'
        if value not in KNOWN:
            return f'plugin "{value}" is unknown'
    return None


@dataclass(kw_only=True, eq=False, repr=False)
class AdmissionOptions:
    """The admission flags, with their defaults."""

    section: ClassVar[str] = "admission"

    admission_control: tuple[str, ...] = flag(
        STRINGS,
        "The admission plugins to run, and no others; their order is fixed.",
        deprecated="use --enable-admission-plugins or --disable-admission-plugins",
        check=_known,
    )
    admission_control_config_file: str = flag(STRING, "A file with the configuration of admission plugins.")
    admission_plugin_module: tuple[str, ...] = flag(
        STRINGS,
        "Python modules with admission functions (kapi.admission.functions) to run beside those that installed "
        "packages bring.",
    )
    default_not_ready_toleration_seconds: int = flag(
        INT,
        "For how many seconds a pod tolerates a node that is not ready, when it does not say so itself.",
        default=300,
    )
    default_unreachable_toleration_seconds: int = flag(
        INT,
        "For how many seconds a pod tolerates a node that is unreachable, when it does not say so itself.",
        default=300,
    )
    disable_admission_plugins: tuple[str, ...] = flag(
        STRINGS, "Admission plugins not to run, of those that run by default.", check=_known
    )
    enable_admission_plugins: tuple[str, ...] = flag(
        STRINGS, "Admission plugins to run beside those that run by default.", check=_known
    )

    def validate(self) -> list[str]:
        errors = []
        both = sorted(set(self.enable_admission_plugins) & set(self.disable_admission_plugins))
        if both:
            errors.append(f"{both} in enable-admission-plugins and disable-admission-plugins overlapped")
        if self.admission_control and (self.enable_admission_plugins or self.disable_admission_plugins):
            errors.append(
                "admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive"
            )
        try:
            self.configurations()
        except ConfigurationError as error:
            errors.append(f"--admission-control-config-file: {error}")
        return errors

    def plugins(self) -> tuple[Registration, ...]:
        """Those to run, in their order."""
        return enabled_plugins(self.enable_admission_plugins, self.disable_admission_plugins, self.admission_control)

    def configurations(self) -> Mapping[str, Object]:
        """What plugins are configured with, by name. Raises ConfigurationError."""
        return load(Path(self.admission_control_config_file)) if self.admission_control_config_file else {}
