"""kubectl as a process, in a namespace of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.server_process import Server


class Kubectl:
    """Commands in one namespace."""

    def __init__(self, server: Server, folder: Path, namespace: str) -> None:
        self._folder = folder
        self.environment = os.environ | {"KUBECONFIG": str(server.kubeconfig()), "HOME": str(folder)}
        self._namespace = namespace

    def __call__(self, *arguments: str, text: str | None = None) -> str:
        """What it prints; a command that fails is an error here."""
        ran = self.run(*arguments, text=text)
        assert ran.returncode == 0, f"kubectl {' '.join(arguments)}\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    def run(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(*arguments), input=text, capture_output=True, text=True, env=self.environment, timeout=30
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._command(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.environment,
        )

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "-o", "json"))

    def _command(self, *arguments: str) -> list[str]:
        cache = self._folder / "cache"
        return ["kubectl", f"--cache-dir={cache}", f"--namespace={self._namespace}", *arguments]
