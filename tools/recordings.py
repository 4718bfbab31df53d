"""Replay recorded answers of a real kube-apiserver against a server started with the recorded settings.

    python tools/recordings.py [FOLDER-OR-FILE ...] [--shared DIR] [-v]

Without arguments, every folder of recordings. Those of `flags-b` and `flags-c` were made with other settings, and get
a server of their own. Prints a line per file and, at the end, `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path

FOLDERS = ("semantics", "resources", "security", "admission", "custom-resources", "connect", "flags-b", "flags-c")
TOKENS = 'admintoken,admin,admin,"system:masters"\nusertoken,alice,alice,"dev"\n'
# Files that want a store of their own: lists of everything first, compacted history last.
FIRST, LAST = ("disc-",), ("read-compacted",)


def more_settings(folder: str, scripts: Path) -> list[str]:
    """What the server was recorded with besides, for this folder."""
    if folder == "flags-b":
        return [
            "--service-cluster-ip-range=10.96.0.0/24,fd00:10:96::/112",
            "--enable-admission-plugins=NodeRestriction",
        ]
    if folder == "flags-c":
        return [
            "--authorization-mode=ABAC,RBAC",
            f"--authorization-policy-file={scripts / 'abac.jsonl'}",
            "--anonymous-auth=false",
            "--allow-privileged=true",
            f"--admission-control-config-file={scripts / 'admission.yaml'}",
            "--enable-admission-plugins=AlwaysPullImages,DenyServiceExternalIPs,OwnerReferencesPermissionEnforcement,"
            "LimitPodHardAntiAffinityTopology,ExtendedResourceToleration,PodNodeSelector,PodTolerationRestriction,"
            "EventRateLimit",
        ]
    return []


def settings(directory: Path, port: int) -> list[str]:
    """The recorded server's flags, with certificates and keys made for the occasion."""
    from kapi.wire.pki import Authority, ensure_service_account_keys

    tokens = directory / "tokens.csv"
    tokens.write_text(TOKENS)
    client = Authority(directory / "client-ca")
    client.ensure()
    proxy = Authority(directory / "proxy-ca")
    proxy.ensure()
    proxy_cert, proxy_key = proxy.issue_client("front-proxy")
    private, public = ensure_service_account_keys(directory / "sa")
    return [
        f"--data-dir={directory / 'data'}",
        f"--cert-dir={directory / 'certs'}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--token-auth-file={tokens}",
        f"--client-ca-file={directory / 'client-ca' / 'ca.crt'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={public}",
        f"--service-account-signing-key-file={private}",
        "--authorization-mode=Node,RBAC",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--endpoint-reconciler-type=none",
        "--enable-aggregator-routing=true",
        f"--requestheader-client-ca-file={directory / 'proxy-ca' / 'ca.crt'}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-allowed-names=front-proxy",
        f"--proxy-client-cert-file={proxy_cert}",
        f"--proxy-client-key-file={proxy_key}",
        "--etcd-compaction-interval=20s",
    ]


@contextlib.contextmanager
def server(more: list[str]) -> Iterator[str]:
    """A server with the recorded settings, of which `more` replace those of the same name; its URL."""
    with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        directory = Path(name)
        free.close()
        replaced = {flag.partition("=")[0] for flag in more}
        flags = [flag for flag in settings(directory, port) if flag.partition("=")[0] not in replaced]
        command = [str(Path(sys.executable).with_name("kube-apiserver")), *flags, *more]
        with (directory / "log").open("w") as log, subprocess.Popen(command, stderr=log) as process:
            try:
                url = f"https://127.0.0.1:{port}"
                wait_ready(url, process, directory / "log")
                yield url
            finally:
                process.terminate()
                process.wait(60)


def wait_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    context = ssl._create_unverified_context()
    request = urllib.request.Request(f"{url}/readyz", headers={"Authorization": "Bearer admintoken"})
    for _ in range(600):
        if process.poll() is not None:
            raise SystemExit(f"the server ended with status {process.returncode}:\n{log.read_text()}")
        with contextlib.suppress(OSError), urllib.request.urlopen(request, context=context):
            return
        time.sleep(0.05)
    raise SystemExit(f"the server did not get ready:\n{log.read_text()}")


def order(file: Path) -> tuple[int, str]:
    rank = 0 if file.name.startswith(FIRST) else 2 if file.name.startswith(LAST) else 1
    return rank, file.name


def replay(tool: Path, file: Path, url: str, *, verbose: bool) -> tuple[int, int]:
    """How many steps of a recording passed and failed."""
    command = [sys.executable, str(tool), "check", str(file), "--server", url, "--token", "admintoken", "--insecure"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    counts = re.search(r"(\d+) passed, (\d+) failed\s*\Z", done.stdout)
    if counts is None:
        raise SystemExit(f"{file}: {done.stdout}{done.stderr}")
    if verbose:
        print(done.stdout, end="")
    return int(counts[1]), int(counts[2])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="FOLDER-OR-FILE")
    parser.add_argument("--shared", type=Path, default=Path(__file__).parents[2] / "shared")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the differences")
    args = parser.parse_args()
    passed = failed = 0
    for folder, files in by_folder(args.names or FOLDERS, args.shared / "wire").items():
        with server(more_settings(folder, args.shared / "wire" / "scripts")) as url:
            for file in files:
                right, wrong = replay(args.shared / "tools" / "wire.py", file, url, verbose=args.verbose)
                passed, failed = passed + right, failed + wrong
                print(f"{right:5d} passed {wrong:4d} failed  {file.parent.name}/{file.name}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 0


def by_folder(names: Iterable[str], wire: Path) -> dict[str, list[Path]]:
    """The files to replay, by the folder whose settings they want; most folders want none of their own."""
    found: dict[str, list[Path]] = {}
    for name in names:
        path = Path(name) if Path(name).exists() else wire / name
        files = sorted(path.glob("*.json"), key=order) if path.is_dir() else [path]
        for file in files:
            own = file.parent.name if more_settings(file.parent.name, wire) else ""
            found.setdefault(own, []).append(file)
    return found


if __name__ == "__main__":
    sys.exit(main())
