"""Commands in processes of their own that need not import anything: forks of one process that has it all.

A command starts in some 20 ms rather than in a second. What is imported lazily is not seen here: tests of
that start an interpreter of their own.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PRELOADED = (
    "hydra",
    "hydra._internal.config_loader_impl",
    "hydra.core.override_parser.overrides_parser",
    "jinja2",
    "numpy",
    "omegaconf",
    "pandas",
    "pyarrow",
    "pyarrow.compute",
    "pyarrow.parquet",
    "tqdm",
    "yaml",
)
_NOT_PRELOADED = ("dse.testing", "dse.partition.run", "dse.partition.graphs.sources")  # pytest and torch
_LENGTH = struct.Struct("<I")
OPTIMISED = "DSE_TEST_OPTIMISED"  # set: commands run under `python -O`, without asserts; tests keep theirs


class WarmProcess:
    """A process that has imported the package, and forks a child per command."""

    def __init__(self) -> None:
        """Start it; commands wait until it is ready."""
        ours, theirs = socket.socketpair()
        with theirs:
            flags = ["-O"] if os.environ.get(OPTIMISED) else []
            line = [sys.executable, *flags, str(Path(__file__).resolve()), str(theirs.fileno())]
            self._process = subprocess.Popen(line, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        self._socket = ours
        atexit.register(self.close)

    def run(self, verb: str, arguments: list[str], cwd: Path, out: int, err: int, timeout_s: float) -> int:
        """Run `dse VERB`, or the script that `verb` is a path of, in a folder; return the exit code.

        Its output goes into two file descriptors.

        Raises:
            subprocess.TimeoutExpired: it has not ended in time, and was killed.
        """
        request = json.dumps(
            {"verb": verb, "arguments": arguments, "cwd": str(cwd), "environment": dict(os.environ)}
        ).encode()
        socket.send_fds(self._socket, [_LENGTH.pack(len(request))], [out, err])
        self._socket.sendall(request)
        self._socket.settimeout(timeout_s)
        try:
            return int(_LENGTH.unpack(_exactly(self._socket, _LENGTH.size))[0]) - 256
        except TimeoutError:
            raise subprocess.TimeoutExpired([verb, *arguments], timeout_s) from None

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.terminate()
        self._process.wait()


_warm: dict[int, WarmProcess] = {}


def run_warm(verb: str, arguments: list[str], cwd: Path, timeout_s: float) -> tuple[int, str, str]:
    """Run a command as `subprocess.run` would; return exit code, output and errors."""
    warm = _warm.get(os.getpid()) or _warm.setdefault(os.getpid(), WarmProcess())
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            code = warm.run(verb, arguments, cwd, out.fileno(), err.fileno(), timeout_s)
        except (subprocess.TimeoutExpired, OSError):
            _warm.pop(os.getpid()).close()
            raise
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode().replace("\r\n", "\n"))
    return code, texts[0], texts[1]


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("the process that runs commands has ended")
        data += part
    return data


def _serve(connection: socket.socket) -> Mapping[str, Any]:
    """Fork a child for every request; only children return, with their request."""
    while True:
        header, descriptors, _, _ = socket.recv_fds(connection, _LENGTH.size, 2)
        if not header:
            os._exit(0)
        request: dict[str, Any] = json.loads(_exactly(connection, _LENGTH.unpack(header)[0]))
        child = os.fork()
        if child == 0:
            connection.close()
            for descriptor, standard in zip(descriptors, (1, 2), strict=True):
                os.dup2(descriptor, standard)
                os.close(descriptor)
            return request
        for descriptor in descriptors:
            os.close(descriptor)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        connection.sendall(_LENGTH.pack(code + 256))


def _preload() -> None:
    """Import all that commands do, but for heavy packages, and fill the caches of Hydra."""
    import dse
    from dse.studies.config import compose_config

    for name in _PRELOADED:
        importlib.import_module(name)
    modules = [found.name for found in pkgutil.walk_packages(dse.__path__, "dse.")]
    for name in modules:
        if not name.startswith(_NOT_PRELOADED) and not name.endswith("__main__"):
            importlib.import_module(name)
    compose_config(["system=torus_4x4", "model=tiny"])


def main() -> None:
    """Import, wait for requests, and, in a child, run the command as `python -m` does."""
    _preload()
    gc.freeze()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request["verb"].endswith(".py"):
        sys.argv[:] = [request["verb"], *request["arguments"]]
        runpy.run_path(request["verb"], run_name="__main__")
        return
    sys.path[0] = request["cwd"]
    sys.argv[:] = ["dse", request["verb"], *request["arguments"]]
    for module in ("dse.__main__", f"dse.commands.{request['verb']}"):
        sys.modules.pop(module, None)  # as for an interpreter that has not seen it
    runpy.run_module("dse", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
