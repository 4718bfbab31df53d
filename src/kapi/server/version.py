"""Which version of the API this server speaks, as `/version` tells."""

from __future__ import annotations

import platform
import sys

from kapi.api.features import NEWEST

MAJOR, MINOR = "1", str(NEWEST)


def version_info(emulated: int = NEWEST, compatible: int = NEWEST - 1) -> dict[str, str]:
    """The fields of upstream's version.Info; what concerns a Go build tells of the Python that runs this."""
    return {
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": str(emulated),
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": str(compatible),
        "gitVersion": f"v{MAJOR}.{MINOR}.0",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{platform.machine()}",
    }
