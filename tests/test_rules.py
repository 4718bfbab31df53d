"""The rules of the repository that a machine can keep."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

import pytest

from kapi.cli.kapi import build_parser

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
GENERATED = {"kms_pb2.py", "rpc_pb2.py"}
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "impl", "misc_utils", "base"}
UNFINISHED = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b")
SOMEONES_HOME = re.compile(r"/(?:home|Users)/(?!you\b)\w+/|(?<![\w.])/roo[t]/")
TEXT = {".py", ".md", ".toml", ".lock", ".yaml", ".yml", ".proto", ".cfg", ".sh", ""}
IGNORED = {".git", ".venv", "__pycache__", "build", "dist", "kapi.egg-info"}


def texts() -> Iterator[tuple[Path, str]]:
    """Every text file of the project."""
    for path in sorted(ROOT.rglob("*")):
        inside = path.relative_to(ROOT).parts
        if IGNORED & set(inside) or any(part.endswith("_cache") or part == ".hypothesis" for part in inside):
            continue
        if path.is_file() and path.suffix in TEXT and path.name != "LICENSE":
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def found(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path}:{number}: {line.strip()[:100]}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_imports_go_down_only() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    ran = subprocess.run([*command, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_no_module_has_a_name_that_says_nothing() -> None:
    named = [path.relative_to(ROOT) for path in SOURCES if {path.stem, *path.relative_to(ROOT).parts} & BANNED_NAMES]
    assert not named


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_every_module_says_what_lives_in_it(path: Path) -> None:
    if path.name not in GENERATED:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_nothing_is_left_unfinished() -> None:
    assert not found(UNFINISHED)


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    places = [str(ROOT)]
    if len(ROOT.parts) > 2 and not str(ROOT).startswith("/tmp"):
        places.append(f"{ROOT.parent}/")
    here = re.compile("|".join(rf"(?<![\w.]){re.escape(place)}" for place in places))
    assert not found(here)
    assert not found(SOMEONES_HOME)


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-test.lock"])
def test_the_locks_name_no_host_and_hash_everything(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^-", text, re.M)
    pins = re.findall(r"^[\w.-]+==\S+", text, re.M)
    assert len(pins) > 10
    assert all(re.search(rf"^{re.escape(pin)} .*\\\n    --hash=sha256:", text, re.M) for pin in pins)


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_in_the_documentation_lead_somewhere() -> None:
    broken = []
    for path, text in texts():
        for target in re.findall(r"\]\(([^)\s]+)\)", text) if path.suffix == ".md" else ():
            file, _, anchor = target.partition("#")
            if "://" in target:
                continue
            aimed = (ROOT / path).parent / file if file else ROOT / path
            if not aimed.exists() or (anchor and anchor not in anchors(aimed)):
                broken.append(f"{path}: {target}")
    assert not broken


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        for target in re.findall(r"\]\(([^)\s#]+)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                waiting.append((page.parent / target).resolve())
    assert set((ROOT / "docs").rglob("*.md")) - reached == {ROOT / "docs" / "README.md"} - reached


def commands(parser: ArgumentParser, words: tuple[str, ...] = ("kapi",)) -> Iterator[tuple[str, list[str]]]:
    """Every command of the parser, with its options."""
    below = [action for action in parser._actions if isinstance(action, _SubParsersAction)]
    for action in below:
        for name, child in action.choices.items():
            yield from commands(child, (*words, name))
    if not below:
        options = [option for action in parser._actions for option in action.option_strings]
        yield " ".join(words), [option for option in options if option not in ("-h", "--help")]


@pytest.mark.parametrize(("command", "options"), list(commands(build_parser())), ids=str)
def test_every_command_and_option_is_in_the_user_guide(command: str, options: list[str]) -> None:
    guide = (ROOT / "docs" / "user-guide.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{command}\b", guide)
    assert [option for option in options if not re.search(rf"(?<![\w-]){option}\b", guide)] == []


def test_the_change_log_speaks_of_what_comes_next() -> None:
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
