"""Generate the messages of every .proto below `src`, each with its stub, beside it.

    pip install grpcio-tools && python tools/build_proto.py [--check]

`--check` writes nothing and fails when the committed messages are not those of their proto.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

SOURCE = Path(__file__).parent.parent / "src"
PROTOS = (Path("kapi/storage/etcd/rpc.proto"), Path("kapi/storage/encryption/kms/kms.proto"))
RUNTIME_CHECK = re.compile(
    r"^from google\.protobuf import runtime_version as _runtime_version\n"
    r"|^_runtime_version\.ValidateProtobufRuntimeVersion\(\n(?:    .*\n)*\)\n"
    r"|^# Protobuf Python Version: .*\n",
    re.MULTILINE,
)


def generate(target: Path) -> dict[Path, str]:
    """The generated files, by their path below `src`."""
    bundled = Path(grpc_tools.__file__).parent / "_proto"
    arguments = ["protoc", f"-I{SOURCE}", f"-I{bundled}", f"--python_out={target}", f"--pyi_out={target}"]
    if protoc.main([*arguments, *map(str, PROTOS)]) != 0:
        raise SystemExit("protoc failed")
    files = {}
    for proto in PROTOS:
        module = proto.with_name(f"{proto.stem}_pb2.py")
        # The check binds the file to the protobuf release of whoever ran this. Plain proto3 messages load on every
        # release that the package allows, so it would only lock users to one major version.
        files[module] = RUNTIME_CHECK.sub("", (target / module).read_text())
        files[module.with_suffix(".pyi")] = (target / module.with_suffix(".pyi")).read_text()
    return files


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        files = generate(Path(directory))
    if "--check" in sys.argv[1:]:
        stale = [str(path) for path, text in files.items() if (SOURCE / path).read_text() != text]
        print(f"stale: {', '.join(stale)}" if stale else "up to date")
        return 1 if stale else 0
    for path, text in files.items():
        (SOURCE / path).write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
