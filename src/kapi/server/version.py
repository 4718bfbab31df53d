"""Which version of the API this server speaks, as `/version` tells."""

from __future__ import annotations

import platform
import sys

MAJOR, MINOR = "1", "37"


def version_info() -> dict[str, str]:
    """The fields of upstream's version.Info; what concerns a Go build tells of the Python that runs this."""
    return {
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": str(int(MINOR) - 1),
        "gitVersion": f"v{MAJOR}.{MINOR}.0",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{platform.machine()}",
    }
