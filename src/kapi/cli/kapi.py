"""`kapi`, the command for people: its command line, and which function answers it.

Each subcommand is imported when it is chosen: `kapi version` must not pay for a server.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kapi import __version__
from kapi.cli.console import Console
from kapi.cli.problem import EXIT_USAGE, Problem

if TYPE_CHECKING:
    from kapi.cli.home import Home

DESCRIPTION = "The Kubernetes API server, for people: one command from nothing to `kubectl get namespaces`."
EXAMPLES = """\
examples:
  kapi up                            serve from the embedded store; Ctrl-C stops it
  kapi up --detach --merge           in the background, with a context in your kubeconfig
  kapi up --in-memory --port 0       a throw-away on any free port
  kapi up -- --etcd-servers=http://127.0.0.1:2379
                                     flags after -- are kube-apiserver's own
  kapi status -o json                for programs
  kapi down                          stop it, gracefully
  kapi db backup before.db           a copy of the store, while it is in use
"""


UP_USAGE = "kapi up [options] [-- kube-apiserver flags]"


class Parser(ArgumentParser):
    """Without abbreviations: they would break scripts whenever an option is added."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, allow_abbrev=False, formatter_class=RawDescriptionHelpFormatter)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status: 0 done, 1 failed, 2 wrong usage, 3 not running."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    own, flags = _split(arguments)
    asked = build_parser().parse_args(own)
    console = Console(as_json=getattr(asked, "output", "text") == "json")
    try:
        if flags is not None and asked.command != "up":
            raise Problem("only `kapi up` takes kube-apiserver flags after --", code=EXIT_USAGE)
        return _run(asked, tuple(flags or ()), console)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0  # whoever read us has enough
    except Exception as error:
        # The one place that catches everything: what is understood becomes two lines, a bug shows its traceback.
        from kapi.cli.problem import explain

        problem = explain(error)
        if problem is None:
            raise
        console.problem(problem)
        return problem.code


def build_parser() -> ArgumentParser:
    """The whole command line; `docs/user-guide.md` describes every part of it."""
    shared = Parser(add_help=False)
    shared.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="where everything lies (default: in your data directory)"
    )
    shared.add_argument(
        "--in-memory", action="store_true", help="the throw-away server, whose objects are only in memory"
    )
    output = Parser(add_help=False)
    output.add_argument("-o", "--output", choices=("text", "json"), default="text", help="for people, or for programs")

    parser = Parser(prog="kapi", description=DESCRIPTION, epilog=EXAMPLES)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    _add_up(commands.add_parser("up", help="start a server", parents=[shared, output], usage=UP_USAGE))
    stop = commands.add_parser("down", help="stop it, gracefully", parents=[shared, output])
    stop.add_argument(
        "--timeout", type=float, default=75.0, metavar="SECONDS", help="give up waiting (default: %(default)g)"
    )
    commands.add_parser("status", help="whether it runs and is ready", parents=[shared, output])
    config = commands.add_parser("kubeconfig", help="print its kubeconfig", parents=[shared])
    config.add_argument("--path", action="store_true", help="print where the file is instead")
    config.add_argument(
        "--merge", action="store_true", help="put it into the kubeconfig that kubectl reads, as context kapi"
    )
    commands.add_parser("version", help="print the version", parents=[output])
    database = commands.add_parser("db", help="check or copy the embedded store")
    actions = database.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=Parser)
    actions.add_parser("check", help="look for damage", parents=[shared, output])
    copy = actions.add_parser("backup", help="copy it to a file, also while it is in use", parents=[shared, output])
    copy.add_argument("file", type=Path, metavar="FILE", help="where to; must not exist")
    return parser


def _add_up(parser: ArgumentParser) -> None:
    parser.add_argument("--port", type=int, metavar="N", help="serve on this port (default: 6443 or the next free one)")
    parser.add_argument("--bind-address", default="127.0.0.1", metavar="IP", help="listen here (default: %(default)s)")
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="write the kubeconfig here")
    parser.add_argument(
        "--merge", action="store_true", help="also into the kubeconfig that kubectl reads, as context kapi"
    )
    parser.add_argument("--detach", action="store_true", help="run in the background; returns when it is ready")


def _split(arguments: list[str]) -> tuple[list[str], list[str] | None]:
    """What is ours, and what comes after `--`."""
    if "--" not in arguments:
        return arguments, None
    position = arguments.index("--")
    return arguments[:position], arguments[position + 1 :]


def _home(asked: Namespace) -> Home:
    from kapi.cli.home import Home, default_home

    if asked.data_dir is not None:
        return Home(asked.data_dir.expanduser().absolute())
    return default_home(in_memory=asked.in_memory)


def _run(asked: Namespace, flags: tuple[str, ...], console: Console) -> int:
    match asked.command:
        case "up":
            return _up(asked, flags, console)
        case "down":
            from kapi.cli.down import down

            return down(_home(asked), asked.timeout, console)
        case "status":
            from kapi.cli.status import status

            return status(_home(asked), console)
        case "kubeconfig":
            return _kubeconfig(asked, console)
        case "db":
            from kapi.cli import database

            home = _home(asked)
            return (
                database.check(home, console) if asked.action == "check" else database.backup(home, asked.file, console)
            )
        case _:
            from kapi.server.version import MAJOR, MINOR

            kubernetes = f"v{MAJOR}.{MINOR}"
            console.result(
                [f"kapi {__version__} (Kubernetes {kubernetes})"], {"version": __version__, "kubernetes": kubernetes}
            )
            return 0


def _up(asked: Namespace, flags: tuple[str, ...], console: Console) -> int:
    from kapi.cli.up import Up, up

    request = Up(
        home=_home(asked),
        in_memory=asked.in_memory,
        port=asked.port,
        bind_address=asked.bind_address,
        kubeconfig=asked.kubeconfig,
        merge=asked.merge,
        flags=flags,
    )
    if not asked.detach:
        return up(request, console)
    from kapi.cli.detach import detach

    return detach(request, console)


def _kubeconfig(asked: Namespace, console: Console) -> int:
    from kapi.cli import kubeconfig

    home = _home(asked)
    if asked.merge:
        return kubeconfig.merge_now(home, console)
    return kubeconfig.show(home, path_only=asked.path)


if __name__ == "__main__":
    sys.exit(main())
