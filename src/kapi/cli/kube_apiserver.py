"""`kube-apiserver`, the drop-in: the flags, the messages and the exit status of the Go binary.

Only what help, `--version` and errors need is imported at the top; the server comes last.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from kapi.options.flag import Flag
from kapi.options.parse import FlagError
from kapi.options.server_run_options import ServerRunOptions, all_flags
from kapi.options.usage import sections

PROGRAM = "kube-apiserver"
DESCRIPTION = """\
kapi, the Kubernetes API server in Python. It stores and validates the objects of a cluster (pods, services,
deployments and all the others), and serves them to everything else in it over REST, with lists, watches and patches."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the result is its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        options, parsed = ServerRunOptions.read(given)
    except FlagError as error:
        return _fail(str(error))
    for notice in parsed.notices:
        print(notice, file=sys.stderr)
    if options.global_flags.help:
        _print_help(sys.stdout)
        return 0
    if parsed.arguments:
        listed = " ".join(f'"{argument}"' for argument in parsed.arguments)
        return _fail(f'"{PROGRAM}" does not take any arguments, got [{listed}]')
    if options.global_flags.version in ("true", "raw"):
        _print_version(raw=options.global_flags.version == "raw")
        return 0
    return _start(options)


def _start(options: ServerRunOptions) -> int:
    from kapi.options.complete import OptionsError, complete  # help and version do without these
    from kapi.options.validate import validate
    from kapi.telemetry.log import log

    log.verbosity, log.format = options.logs.v, options.logs.logging_format
    _log_start(options)
    errors = validate(options)
    if errors:
        return _fail(*errors)
    try:
        completed = complete(options)
    except OptionsError as error:
        return _fail(str(error))
    for warning in completed.warnings + completed.pending:
        log.warning(warning)

    gc.disable()  # until it serves: next to nothing that a start makes is garbage
    from kapi.app.run import run  # the server, which a bad flag should not wait for

    try:
        return run(completed)
    except Exception as error:
        from kapi.cli.problem import explain  # a bug shows its traceback, everything else is a line

        problem = explain(error)
        if problem is None:
            raise
        return _fail(problem.what)


def _log_start(options: ServerRunOptions) -> None:
    """The version is the first line of every log; the flags follow from -v=1 on."""
    from kapi import __version__
    from kapi.server.version import version_info
    from kapi.telemetry.log import log

    log.info("Version", version=version_info()["gitVersion"], kapi=__version__)
    if log.verbosity >= 1:
        for item in sorted(all_flags(), key=_by_name):
            shown = item.declared.kind.show(options.value(item))
            log.debug(1, f"FLAG: --{item.name}={shown}")


def _print_help(out: TextIO) -> None:
    out.write(f"{DESCRIPTION}\n\nUsage:\n  {PROGRAM} [flags]\n")
    out.write(sections(all_flags(), _columns(out)))


def _columns(out: TextIO) -> int:
    """The terminal's width; 0 when it is none."""
    if not out.isatty():
        return 0
    try:
        return os.get_terminal_size(out.fileno()).columns
    except OSError:
        return 0


def _print_version(*, raw: bool) -> None:
    from kapi.server.version import version_info  # only for this

    info = version_info()
    if raw:
        fields = ", ".join(f"{name[0].upper()}{name[1:]}:{_quoted(value)}" for name, value in info.items())
        print(f"version.Info{{{fields}}}")
    else:
        print(f"Kubernetes {info['gitVersion']}")


def _fail(*errors: str) -> int:
    for error in errors:
        print(f"Error: {error}", file=sys.stderr)
    return 1


def _by_name(item: Flag) -> str:
    return item.name


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    sys.exit(main())
