"""`dse system show FILE|NAME`: a machine that describes itself, drawn, and as a system, cluster or graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.errors import InputError
from dse.base.settings import check_choice
from dse.base.settings.values import Values, file
from dse.commands.cli import print_notes, reading

if TYPE_CHECKING:
    from dse.inputs.machines import Given

_FORMS = ("system", "cluster", "graph", "infragraph")

COMMAND = CommandLine(
    "system",
    "Draw a system, a cluster or a machine that describes itself: nvidia-smi topo -m, NCCL's topology and "
    "graph XML, XML of lstopo, InfraGraph, Slurm's topology.conf or .yaml, output of nccl-tests. With -o it "
    "becomes a file that system=, cluster= and topology= take.",
    words={
        "show": "the only action",
        "FILE": "such a document, a graph (CSV), or a name or file of conf/system or conf/cluster",
    },
    keys={
        "keys": {
            "as": "what -o writes: system (.yaml), cluster for dse plan (.yaml), graph (.csv) or infragraph "
            "(.json, .yaml); by default the ending says it, and unequal nodes are a cluster",
            "machine.KEY": "what the document does not say, such as machine.nvlink_latency_ns=700; "
            "a refusal of -o names all that it needs",
        }
    },
    options={"--output": Option("write the system, cluster, graph or InfraGraph document", "FILE", "-o")},
    groups=("machine",),
    choices={"as": _FORMS},
    example="machine.nodes=4",
    synopsis=("show FILE|NAME [machine.KEY=VALUE ...] [-o FILE]",),
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print the drawing and write the file; return the exit code.

    Raises:
        InputError: the document is unreadable, or does not say what the file needs.
    """
    check_choice("system", arguments.words[0], ("show",))
    from dse.inputs.machines import Given

    word, output = arguments.words[1], file(arguments.options, "--output")
    given = Given.of(list(arguments.overrides))
    path = Path(word).expanduser()
    known = _known_text(word, path)
    if known is not None:
        if output is not None or given.texts or arguments.values:
            what = "-o" if output is not None else "keys"
            raise InputError(f"{what}: {word} is a system, cluster or graph already; it is only shown")
        print(known)
        return 0
    _described(path, given, output, arguments.values)
    return 0


def _known_text(word: str, path: Path) -> str | None:
    """The drawing of a graph, or of what conf/system or conf/cluster has or could have; None for others."""
    from dse.answers.drawn_machines import cluster_text, graph_text, system_text
    from dse.base.files import conf_file
    from dse.base.plain_data import read_yaml
    from dse.inputs.machines.kinds import YAML, kind_of
    from dse.inputs.networks.csv import read_link_graph

    if path.suffix == ".csv":
        return graph_text(path.name, read_link_graph(path))
    is_cluster = conf_file("cluster", word).is_file() and "/" not in word
    if path.suffix in YAML and path.is_file():
        kind = kind_of(read_yaml(path))
        if not kind:
            return None
        is_cluster = kind == "cluster"
    elif path.is_file() or (path.suffix and not conf_file("system", word).is_file()):
        return None  # a document, or the name of none, which reading it says
    if is_cluster:
        from dse.planner.problem.named_clusters import named_cluster

        found = named_cluster(word)
        return cluster_text(found.name, found.cluster)
    from dse.studies.composed import system_of

    system = system_of([f"system={word}"])
    files = [Path(dimension.file) for dimension in system.network if dimension.file is not None]
    graphs = [graph_text(file.name, read_link_graph(file)) for file in files]
    return "\n\n".join([system_text(system), *graphs])


def _described(path: Path, given: Given, output: Path | None, values: Values) -> None:
    """Draw what a document describes, and write it.

    Raises:
        InputError: as `read_machine`, `written_files` and `_check_readable`, or a key has no effect.
    """
    from dse.answers.drawn_machines import document_text
    from dse.base.files import check_output, write_output
    from dse.inputs.machines import Given, read_machine
    from dse.inputs.machines.written import written_files

    document = read_machine(path)
    if output is None and "as" in values:
        raise InputError("as says what -o writes; give both")
    if output is not None:
        check_output(output, "-o")
        files = written_files(document, given, output, values.get("as"), path)
        _check_readable(files, output)
        for target, text in files.items():
            write_output(target, text.encode(), "-o")
        print_notes([*given.taken, *(f"wrote {target}" for target in files)])
    drawn = Given(given.texts)
    text = document_text(document, drawn)
    unused = next((key for key in given.texts if key not in given.used | drawn.used), None)
    if output is None and unused is not None:
        raise InputError(f"machine.{unused} has no effect without -o; see dse system --help")
    print(text)


def _check_readable(files: Mapping[Path, str], output: Path) -> None:
    """Check texts by the reader of what they are before they are written.

    Raises:
        InputError: the reader refuses them.
    """
    from dse.base.files import write_output
    from dse.inputs.machines import read_machine

    with TemporaryDirectory() as folder:
        for target, text in files.items():
            write_output(Path(folder) / target.name, text.encode(), "-o")
        copy = Path(folder) / output.name
        try:
            if _known_text(str(copy), copy) is None:
                read_machine(copy)
        except InputError as error:
            text = str(error).replace(f"{folder}/", "").removeprefix(f"{output.name}: ")
            raise InputError(f"-o {output} would hold what cannot be used: {text}") from None
