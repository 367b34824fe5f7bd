"""`dse check FILE system=dgx_h100`: whether a framework runs a configuration, if it fits, and how fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.command_lines import MANY, Arguments, CommandLine
from dse.base.errors import InputError, excerpt
from dse.base.settings.values import assignments, whole
from dse.base.texts import printable
from dse.commands.cli import JSON, print_json, read_arguments

if TYPE_CHECKING:
    from dse.inputs.accelerators import Cluster

COMMAND = CommandLine(
    "check",
    "Read the configuration of a training framework, complete it with the framework's defaults, and say "
    "whether its rules allow it; on a cluster also the step time, whether it fits, and the three changes "
    "that gain most.",
    words={"FILE": "a shell script, JSON, YAML, TOML or Python recipe; overrides may follow"},
    least=0,
    most=MANY,
    keys={
        "keys": {
            "framework": "megatron-lm, megatron-bridge, torchtitan, deepspeed, maxtext or accelerate; found "
            "out where it is not given",
            "system": "a name of conf/system, or a file like those; the job's GPUs fill its nodes",
            "gpu": "instead of system: an accelerator such as h100, with the nodes that it usually has",
            "npus": "number of GPUs, where the configuration does not say it",
            "model": "a name of conf/model, or a config.json, where the configuration has no model",
            "batch": "sequences of a step, where the configuration does not say it",
            "micro_batch": "sequences of a micro-batch, likewise",
            "seq": "tokens of a sequence, likewise",
            "set": "values of variables that a script takes from its surroundings: set=A=1,B=2",
        }
    },
    options=JSON,
    exclusive=(("system", "gpu"),),
    synopsis=(
        "FILE [KEY=VALUE ...] [OPTION ...]",
        "[KEY=VALUE ...] -- pretrain_gpt.py --tensor-model-parallel-size 8 ...",
    ),
    ending="Behind -- stands a command line of the framework. Scripts are read, never run. "
    "Exit code: 0 legal, 1 illegal, 2 wrong input, 3 legal but does not fit.",
)


def main(argv: Sequence[str]) -> int:
    """Print the check; return the exit code."""
    own, behind = _split(argv)
    arguments = read_arguments(COMMAND, own)
    if arguments is None:
        return 0
    words = [*arguments.words, *behind]
    if not words:
        raise InputError("nothing to check: give a FILE, or a command line of a framework behind --")
    if len(words) == len(behind) == 1 and not Path(words[0]).exists():
        raise InputError(f"'{excerpt(words[0])}' is no file, and has no options to check as a command line")
    from dse.prediction.frameworks.checks.check import EXIT_CODES, checked
    from dse.prediction.frameworks.checks.text import check_data, check_text

    reading, cluster = _asked(arguments, words)
    check = checked(reading, cluster)
    if "--json" in arguments.options:
        print_json([check_data(check)])
    else:
        print("\n".join(map(printable, check_text(check).splitlines())))
    return EXIT_CODES[check.status]


def _split(argv: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words of dse, and those behind --."""
    if "--" not in argv:
        return argv, ()
    place = list(argv).index("--")
    return argv[:place], argv[place + 1 :]


def _asked(arguments: Arguments, words: Sequence[str]) -> tuple[Any, Cluster | None]:
    """The reading of a configuration, and the cluster that is asked for."""
    from dse.prediction.frameworks.checks.check import cluster_of_gpu, cluster_of_name
    from dse.prediction.frameworks.jobs import read_job
    from dse.prediction.frameworks.reading import read_document

    values = arguments.values
    document = read_document(words, values.get("framework", ""), assignments(values, "set"))
    npus = whole(values, "npus", document.npus, least=1)
    if document.npus is not None and npus != document.npus:
        raise InputError(
            f"npus is {npus}, but {document.where} says {document.npus}: leave npus out, or change the file"
        )
    counts = {name: whole(values, name, None, least=1) for name in ("batch", "micro_batch", "seq")}
    reading = read_job(replace(document, npus=npus), values.get("model", ""), **counts)
    assumed: list[str] = []
    found = None
    npus = reading.job.npus if npus is None and reading.job is not None else npus
    if npus is not None and "system" in values:
        found = cluster_of_name(values["system"], npus, assumed)
    if npus is not None and "gpu" in values:
        found = cluster_of_gpu(values["gpu"], npus, assumed)
    return replace(reading, assumed=(*reading.assumed, *assumed)), found
