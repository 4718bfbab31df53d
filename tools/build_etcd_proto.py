"""Generate `rpc_pb2.py` and its stub from `src/kapi/storage/etcd/rpc.proto`.

    pip install grpcio-tools && python tools/build_etcd_proto.py [--check]

`--check` writes nothing and fails when the committed messages are not those of the proto.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

SOURCE = Path(__file__).parent.parent / "src"
PROTO = Path("kapi/storage/etcd/rpc.proto")
RUNTIME_CHECK = re.compile(
    r"^from google\.protobuf import runtime_version as _runtime_version\n"
    r"|^_runtime_version\.ValidateProtobufRuntimeVersion\(\n(?:    .*\n)*\)\n"
    r"|^# Protobuf Python Version: .*\n",
    re.MULTILINE,
)


def generate(target: Path) -> dict[str, str]:
    """The generated files by name."""
    bundled = Path(grpc_tools.__file__).parent / "_proto"
    arguments = ["protoc", f"-I{SOURCE}", f"-I{bundled}", f"--python_out={target}", f"--pyi_out={target}", str(PROTO)]
    if protoc.main(arguments) != 0:
        raise SystemExit("protoc failed")
    module = (target / PROTO).with_name("rpc_pb2.py")
    # The check binds the file to the protobuf release of whoever ran this. Plain proto3 messages load on every
    # release that the package allows, so it would only lock users to one major version.
    return {
        module.name: RUNTIME_CHECK.sub("", module.read_text()),
        module.name + "i": module.with_suffix(".pyi").read_text(),
    }


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        files = generate(Path(directory))
    folder = (SOURCE / PROTO).parent
    if "--check" in sys.argv[1:]:
        stale = [name for name, text in files.items() if (folder / name).read_text() != text]
        print(f"stale: {', '.join(stale)}" if stale else "up to date")
        return 1 if stale else 0
    for name, text in files.items():
        (folder / name).write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
