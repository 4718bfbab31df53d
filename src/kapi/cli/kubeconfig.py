"""Kubeconfig files: our own, and the merge into the one that kubectl reads by default.

A merge changes the entries called `kapi` and nothing else: it works on the YAML's nodes, so that every other value
keeps its text (a date stays a date, "0123" a string), and it leaves a backup.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kapi.cli.console import Console
from kapi.cli.home import Home
from kapi.cli.problem import EXIT_NOT_RUNNING, Problem
from kapi.wire.pki import write_atomically

if TYPE_CHECKING:
    import yaml
    from yaml.nodes import MappingNode, SequenceNode

NAME = "kapi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a client needs: where the server is, whom to trust, who one is."""

    url: str
    ca: Path
    certificate: Path
    key: Path

    def cluster(self) -> dict[str, str]:
        return {"server": self.url, "certificate-authority-data": _encoded(self.ca)}

    def user(self) -> dict[str, str]:
        return {
            "client-certificate-data": _encoded(self.certificate),
            "client-key-data": _encoded(self.key),
        }


def render(access: Access) -> str:
    """The whole file. Written by hand: the values are base64 and one URL, and a YAML library costs start-up time."""
    cluster = "\n".join(f"    {key}: {value}" for key, value in access.cluster().items())
    user = "\n".join(f"    {key}: {value}" for key, value in access.user().items())
    return f"""\
apiVersion: v1
kind: Config
clusters:
- name: {NAME}
  cluster:
{cluster}
users:
- name: {NAME}
  user:
{user}
contexts:
- name: {NAME}
  context:
    cluster: {NAME}
    user: {NAME}
current-context: {NAME}
"""


def write(path: Path, access: Access) -> None:
    write_atomically(path, render(access).encode(), 0o600)


def default_path(environment: Mapping[str, str] = os.environ) -> Path:
    """The file that kubectl would change: of a list in $KUBECONFIG the first that exists, else the last."""
    listed = [Path(part) for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    if not listed:
        return Path.home() / ".kube" / "config"
    return next((path for path in listed if path.exists()), listed[-1])


def merge(path: Path, access: Access) -> Path | None:
    """Puts the `kapi` cluster, user and context into the file; returns the backup's path if there was one before."""
    path = path.resolve()  # a link stays a link
    try:
        before = path.read_bytes() if path.exists() else None
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}", "Check its owner and mode.") from error
    if before is None or not before.strip():
        write(path, access)
        return None

    mode = path.stat().st_mode & 0o777
    backup = path.with_name(f"{path.name}.before-kapi")
    after = _merged(path, before, access)
    if after != before:
        write_atomically(backup, before, mode)
        write_atomically(path, after, mode)
    return backup


def show(home: Home, *, path_only: bool) -> int:
    """`kapi kubeconfig`: the file of the server that runs, or ran last, in the data directory."""
    state = home.running()
    path = Path(state.kubeconfig) if state else home.kubeconfig
    if not path.exists():
        raise Problem(f"there is no kubeconfig in {home.directory} yet", "`kapi up` writes it.", code=EXIT_NOT_RUNNING)
    print(path if path_only else path.read_text(encoding="utf-8"), end="\n" if path_only else "")
    return 0


def merge_now(home: Home, console: Console) -> int:
    """`kapi kubeconfig --merge`: as `kapi up --merge`, later."""
    state = home.running()
    if state is None:
        raise Problem(f"kapi is not running in {home.directory}", "`kapi up` starts it.", code=EXIT_NOT_RUNNING)
    ca, certificate, key = (home.pki / name for name in ("ca.crt", "admin.crt", "admin.key"))
    path = default_path()
    merge(path, Access(url=state.url, ca=ca, certificate=certificate, key=key))
    console.result([f"merged into {path} as context {NAME}"], {"merged": str(path), "context": NAME})
    return 0


def _merged(path: Path, content: bytes, access: Access) -> bytes:
    import yaml  # only a merge reads YAML
    from yaml.nodes import MappingNode

    try:
        root = yaml.compose(content, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise _not_a_kubeconfig(path) from error
    if not isinstance(root, MappingNode):
        raise _not_a_kubeconfig(path)
    context = {"cluster": NAME, "user": NAME}
    entries = (
        ("clusters", "cluster", access.cluster()),
        ("users", "user", access.user()),
        ("contexts", "context", context),
    )
    for section, inner, value in entries:
        _set_entry(_section(path, root, section), inner, value)
    _set_default(root, "current-context", NAME)
    return str(yaml.serialize(root, Dumper=yaml.SafeDumper, allow_unicode=True)).encode()


def _section(path: Path, root: MappingNode, name: str) -> SequenceNode:
    """The list of that name, made when it is absent, empty or null."""
    from yaml.nodes import ScalarNode, SequenceNode

    for position, (key, value) in enumerate(root.value):
        if key.value != name:
            continue
        if isinstance(value, SequenceNode):
            value.flow_style = False
            return value
        if isinstance(value, ScalarNode) and value.tag == "tag:yaml.org,2002:null":
            made = SequenceNode("tag:yaml.org,2002:seq", [], flow_style=False)
            root.value[position] = (key, made)
            return made
        raise _not_a_kubeconfig(path)
    made = SequenceNode("tag:yaml.org,2002:seq", [], flow_style=False)
    root.value.append((_text(name), made))
    return made


def _set_entry(section: SequenceNode, inner: str, value: Mapping[str, str]) -> None:
    entry = _mapping([("name", _text(NAME)), (inner, _mapping([(k, _text(v)) for k, v in value.items()]))])
    for position, item in enumerate(section.value):
        named = item.value if item.id == "mapping" else []
        if any(key.value == "name" and found.value == NAME for key, found in named):
            section.value[position] = entry
            return
    section.value.append(entry)


def _set_default(root: MappingNode, name: str, value: str) -> None:
    """Sets it only where it is empty: the context in use is the user's choice."""
    for position, (key, found) in enumerate(root.value):
        if key.value == name:
            if found.value in ("", "null", "~"):
                root.value[position] = (key, _text(value))
            return
    root.value.append((_text(name), _text(value)))


def _text(value: str) -> yaml.ScalarNode:
    from yaml.nodes import ScalarNode

    return ScalarNode("tag:yaml.org,2002:str", value)


def _mapping(pairs: list[tuple[str, yaml.Node]]) -> MappingNode:
    from yaml.nodes import MappingNode

    return MappingNode("tag:yaml.org,2002:map", [(_text(key), value) for key, value in pairs], flow_style=False)


def _not_a_kubeconfig(path: Path) -> Problem:
    return Problem(f"{path} is not a kubeconfig, so nothing was merged into it", "Repair or move it, then try again.")


def _encoded(path: Path) -> str:
    return b64encode(path.read_bytes()).decode()
