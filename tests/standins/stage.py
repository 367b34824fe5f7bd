"""A stand-in for STAGE's entry file: its options around our own generator.

STANDIN in the environment chooses how it behaves. crash: exit status 1 after a traceback; missing: the trace
of rank 1 is not written; nothing: no file is written; garbage: the trace of rank 0 is no trace; modules: it
imports one that nobody has; bare: nodes have no `inputs` and `outputs`; tags: message tags have another base;
hang: prints, writes its process id to STANDIN_PIDS, and sleeps; tables: it reads `tables/operators.csv`
relative to the current folder, as to the checkout, and writes a file into the current folder; newer: it has
the options and the groups file of STAGE of 2026.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.native import _engine
from dse.simulation.workloads import generate

VARIANT = os.environ.get("STANDIN", "")
_DEFAULTS = {
    "din": 51200, "dout": 25600, "dmodel": 25600, "dff": 102400,
    "batch": 1024, "seq": 1024, "head": 1024, "num_stacks": 32,
    "dp": 1, "tp": 1, "sp": 1, "pp": 1,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser()
    is_newer = VARIANT == "newer"
    for name in ("output_dir", "output_name", *(() if is_newer else ("comm_group_file",))):
        parser.add_argument(f"--{name}", required=True)
    for name, default in _DEFAULTS.items():
        if is_newer and name in ("din", "dout"):
            continue
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in ("weight_sharded", "activation_recompute"):
        parser.add_argument(f"--{name}", type=lambda text: text.lower() in ("true", "t", "1", "yes", "y"))
    parser.add_argument("--chakra_schema_version", choices=["v0.0.4"], default="v0.0.4")
    if is_newer:
        for name in ("dvocal", "kvhead", "ep", "micro_batch"):
            parser.add_argument(f"--{name}", type=int, default=1)
        parser.add_argument("--tpsp", type=lambda text: text.lower() == "true", default=True)
    options = parser.parse_args()
    if is_newer:
        options.dp *= options.ep
        options.din = options.dout = options.dvocal
        options.comm_group_file = f"{options.output_name}.json"
    print(f"generating with {sys.executable}")
    if VARIANT == "hang":
        Path(os.environ["STANDIN_PIDS"]).write_text(f"{os.getpid()}")
        time.sleep(600)
    if VARIANT == "modules":
        import module_of_the_checkout  # noqa: F401
    if VARIANT == "crash":
        raise RuntimeError("the stand-in crashes as told")
    if VARIANT == "tables":
        assert Path("tables/operators.csv").read_text() == "qkv\n"
        Path("scratch.txt").write_text("of this run only\n")
    if VARIANT == "nothing":
        return 0
    write(options)
    return 0


def changed(path: Path) -> bytes:
    nodes = _engine.read_trace_file(str(path)).nodes()
    if VARIANT == "tags" and not any("comm_tag" in node["attributes"] for node in nodes):
        return path.read_bytes()
    for node in nodes:
        attributes = node["attributes"]
        if VARIANT == "bare":
            node["attributes"] = {k: v for k, v in attributes.items() if k not in ("inputs", "outputs")}
        elif "comm_tag" in attributes:
            kind, tag = attributes["comm_tag"]
            attributes["comm_tag"] = (kind, tag + 123)
    return _engine.trace_file(nodes, "0.0.4").encode()


def write(options: argparse.Namespace) -> None:
    model = ModelSpec(
        "stand-in",
        options.din, options.dout, options.dmodel, options.dff,
        options.head, options.seq, options.batch, options.num_stacks,
    )  # fmt: skip
    axes = (options.dp, options.tp, options.sp, options.pp)
    strategy = Strategy(*axes, bool(options.weight_sharded), bool(options.activation_recompute))
    output = Path(options.output_dir)
    paths = generate(model, strategy).export(output, options.output_name)
    paths[-1].rename(output / options.comm_group_file)
    if VARIANT in ("bare", "tags"):
        for path in paths[:-1]:
            path.write_bytes(changed(path))
    if VARIANT == "missing":
        (output / f"{options.output_name}.1.et").unlink()
    if VARIANT == "garbage":
        (output / f"{options.output_name}.0.et").write_bytes(b"\xff\xff")


if __name__ == "__main__":
    sys.exit(main())
