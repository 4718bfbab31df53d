"""Kubeconfigs: what is written is complete, and a merge changes nothing that is not ours."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml

from kapi.cli import kubeconfig
from kapi.cli.credentials import prepare
from kapi.cli.problem import Problem

EXISTING = """\
apiVersion: v1
kind: Config
preferences: {}
clusters:
- name: work
  cluster: {server: "https://work.example.com", insecure-skip-tls-verify: true}
users:
- name: "0123"
  user:
    auth-provider:
      config:
        expiry: 2026-01-02T03:04:05Z
        id-token: 'yes'
        port: 0o17
        text: |
          two
          lines
contexts:
- name: work
  context: {cluster: work, user: "0123"}
current-context: work
extensions:
- name: ünïcode
  extension: &shared {a: 1}
- name: other
  extension: *shared
"""


@pytest.fixture(scope="module")
def access(tmp_path_factory: pytest.TempPathFactory) -> kubeconfig.Access:
    identity = prepare(tmp_path_factory.mktemp("pki"), service_ip="10.0.0.1", addresses=["127.0.0.1"])
    certificate, key = identity.admin
    return kubeconfig.Access(url="https://127.0.0.1:6443", ca=identity.ca, certificate=certificate, key=key)


def scalars(text: str) -> list[tuple[str, str]]:
    """Every scalar with its resolved tag, in order: what a reader of the file would see."""
    found = []

    def walk(node: yaml.Node) -> None:
        if isinstance(node, yaml.ScalarNode):
            found.append((node.tag, node.value))
        for child in node.value if not isinstance(node, yaml.ScalarNode) else ():
            for part in child if isinstance(child, tuple) else (child,):
                walk(part)

    walk(yaml.compose(text, Loader=yaml.SafeLoader))
    return found


def test_our_own_file_has_everything_inside(access: kubeconfig.Access, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kubeconfig"
    kubeconfig.write(path, access)
    config = yaml.safe_load(path.read_text())

    assert path.stat().st_mode & 0o777 == 0o600
    assert config["current-context"] == "kapi"
    assert config["contexts"][0] == {"name": "kapi", "context": {"cluster": "kapi", "user": "kapi"}}
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    assert cluster["server"] == "https://127.0.0.1:6443"
    assert base64.b64decode(cluster["certificate-authority-data"]) == access.ca.read_bytes()
    assert base64.b64decode(user["client-certificate-data"]) == access.certificate.read_bytes()
    assert base64.b64decode(user["client-key-data"]) == access.key.read_bytes()


def test_a_merge_keeps_every_other_value_as_it_was_written(access: kubeconfig.Access, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(EXISTING, encoding="utf-8")
    path.chmod(0o640)
    backup = kubeconfig.merge(path, access)

    merged = path.read_text(encoding="utf-8")
    remaining = scalars(merged)
    for scalar in scalars(EXISTING):
        remaining.remove(scalar)
    config = yaml.safe_load(merged)
    assert [entry["name"] for entry in config["contexts"]] == ["work", "kapi"]
    assert config["clusters"][1]["cluster"] == access.cluster()
    assert config["users"][1]["user"] == access.user()
    assert config["current-context"] == "work"
    assert path.stat().st_mode & 0o777 == 0o640
    assert backup is not None
    assert backup.read_text(encoding="utf-8") == EXISTING


def test_a_second_merge_replaces_the_first(access: kubeconfig.Access, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(EXISTING, encoding="utf-8")
    kubeconfig.merge(path, access)
    moved = kubeconfig.Access(
        url="https://127.0.0.1:6999", ca=access.ca, certificate=access.certificate, key=access.key
    )
    kubeconfig.merge(path, moved)
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert [entry["name"] for entry in config["clusters"]] == ["work", "kapi"]
    assert config["clusters"][1]["cluster"]["server"] == "https://127.0.0.1:6999"


@pytest.mark.parametrize("content", [None, "", "\n"])
def test_a_merge_into_nothing_is_our_own_file(content: str | None, access: kubeconfig.Access, tmp_path: Path) -> None:
    path = tmp_path / ".kube" / "config"
    if content is not None:
        path.parent.mkdir()
        path.write_text(content)
    assert kubeconfig.merge(path, access) is None
    assert path.read_text() == kubeconfig.render(access)


def test_kubectl_s_empty_file_gets_its_lists_and_our_context(access: kubeconfig.Access, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text('apiVersion: v1\nkind: Config\nclusters: null\ncontexts: []\nusers: null\ncurrent-context: ""\n')
    kubeconfig.merge(path, access)
    config = yaml.safe_load(path.read_text())
    assert [config[section][0]["name"] for section in ("clusters", "contexts", "users")] == ["kapi"] * 3
    assert config["current-context"] == "kapi"


@pytest.mark.parametrize("content", ["- a list", "just text", "a: [", "clusters: text\n"])
def test_what_is_no_kubeconfig_is_left_alone(content: str, access: kubeconfig.Access, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(Problem, match="is not a kubeconfig"):
        kubeconfig.merge(path, access)
    assert path.read_text() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(access: kubeconfig.Access, tmp_path: Path) -> None:
    target, link = tmp_path / "real", tmp_path / "config"
    target.write_text(EXISTING, encoding="utf-8")
    link.symlink_to(target)
    kubeconfig.merge(link, access)
    assert link.is_symlink()
    assert "name: kapi" in target.read_text(encoding="utf-8")


def test_of_several_files_the_first_that_exists_is_merged_into(tmp_path: Path) -> None:
    absent, present = tmp_path / "absent", tmp_path / "present"
    present.touch()
    assert kubeconfig.default_path({"KUBECONFIG": f"{absent}:{present}"}) == present
    assert kubeconfig.default_path({"KUBECONFIG": f"{absent}:{absent}2"}) == Path(f"{absent}2")
    assert kubeconfig.default_path({}) == Path.home() / ".kube" / "config"
