"""The flags are upstream's: every one of the facts, with its section, type, default and shorthand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kapi.options.flag import Flag
from kapi.options.reference import page
from kapi.options.server_run_options import all_flags

ROOT = Path(__file__).parents[2]
FACTS = ROOT.parent / "shared" / "facts" / "flags.json"
OLD = (
    "insecure-bind-address insecure-port address port ssh-user ssh-keyfile target-ram-mb deserialization-cache-size "
    "kubelet-read-only-port kubelet-https kubelet-port enable-swagger-ui cloud-provider cloud-config "
    "experimental-encryption-provider-config master-service-namespace repair-malformed-updates storage-versions "
    "basic-auth-file apiserver-count"
)


def by_name() -> dict[str, Flag]:
    return {name: item for item in all_flags() for name in (item.name, *item.declared.also)}


@pytest.mark.skipif(not FACTS.exists(), reason="needs the facts about upstream's flags")
def test_every_flag_of_upstream_is_there_with_its_section_type_default_and_shorthand() -> None:
    flags, differences = by_name(), []
    for section, facts in json.loads(FACTS.read_text()).items():
        for fact in facts:
            declared = flags[fact["name"]].declared
            kind = declared.kind
            bare = f"[={kind.bare}]" if kind.bare and kind.name != "bool" else ""
            mine = (flags[fact["name"]].section, kind.name + bare, kind.show(declared.default), declared.short)
            theirs = (section, fact["type"], fact.get("default", kind.show(kind.zero)), fact.get("short", ""))
            if mine != theirs:
                differences.append((fact["name"], mine, theirs))
    assert differences == []


def test_flags_that_later_releases_dropped_are_still_there() -> None:
    assert [name for name in OLD.split() if name not in by_name()] == []


def test_no_flag_is_declared_twice() -> None:
    names = [name for item in all_flags() for name in (item.name, *item.declared.also)]
    assert len(names) == len(set(names))


def test_every_default_survives_being_written_and_read_again() -> None:
    for item in all_flags():
        kind, default = item.declared.kind, item.declared.default
        if default != kind.zero:
            assert kind.parse(kind.show(default).strip("[]")) == default, item.name


def test_the_page_about_flags_says_what_the_declarations_say() -> None:
    written = (ROOT / "docs" / "flags.md").read_text()
    assert written == page(), "run: python -m kapi.options.reference > docs/flags.md"
