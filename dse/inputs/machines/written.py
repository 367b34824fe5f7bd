"""Documents of machines as files that `dse` takes: a system, a cluster, a graph; or as InfraGraph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dse.base.errors import InputError
from dse.base.settings import check_choice
from dse.inputs.machines.clusters import hosts_cluster, machine_cluster
from dse.inputs.machines.given import Given
from dse.inputs.machines.graphs import copies, machine_graph
from dse.inputs.machines.host_systems import hosts_text, measured_text
from dse.inputs.machines.infragraph import infragraph_text
from dse.inputs.machines.infragraph_written import infragraph_of
from dse.inputs.machines.kinds import YAML
from dse.inputs.machines.machine import Machine
from dse.inputs.machines.rates import gbps_of, latency_of
from dse.inputs.machines.read import Document, infragraph_document
from dse.inputs.machines.slurm import HostTree
from dse.inputs.machines.systems import MOST_COPIES, system_files
from dse.inputs.networks.csv import link_graph_csv

FORMS = ("system", "cluster", "graph", "infragraph")
_FORM_OF = {".csv": "graph", ".json": "infragraph", ".yaml": "system", ".yml": "system"}
_ENDINGS = {"graph": (".csv",), "infragraph": (".json", *YAML), "system": YAML, "cluster": YAML}


def written_files(
    document: Document, given: Given, output: Path, form: str | None, source: Path
) -> dict[Path, str]:
    """Return the texts of the files that a document becomes; `form` is one of `FORMS`.

    Without it the ending of `output` says it. A system with unequal links brings its graph. A
    document of InfraGraph stays what it is.

    Raises:
        InputError: the ending is that of another form, the document cannot become it, or does not say all
            that is needed and `given` lacks it: names all missing keys.
    """
    form = form or _FORM_OF.get(output.suffix)
    if form is not None:
        check_choice("as", form, FORMS)
    if form is None or output.suffix not in _ENDINGS[form]:
        ways = ", ".join(_ENDINGS[form] if form else _FORM_OF)
        raise InputError(f"-o is '{output}'; its ending must be one of {ways}")
    where = str(source)
    if not isinstance(document, Machine):
        if form == "cluster" and isinstance(document, HostTree):
            return {output: hosts_cluster(document, given, output, where)}
        if form != "system":
            what = "a tree of hosts" if isinstance(document, HostTree) else "a table of times"
            raise InputError(f"{where} is {what}, which becomes a system, -o FILE.yaml, but no {form}")
        if isinstance(document, HostTree):
            return {output: hosts_text(document, given, output, where)}
        return {output: measured_text(document, given, output, where)}
    if form == "infragraph":
        own = infragraph_document(source) if document.format == "InfraGraph" else None
        whole = own or infragraph_of(_with_known_rates(document, given))
        given.require(where)
        return {output: infragraph_text(whole, output.suffix == ".json")}
    if form == "cluster":
        return {output: machine_cluster(document, given, output, where)}
    if form == "system":
        return system_files(document, given, output, where)
    nodes = given.count("nodes", "machines of this kind", 1, MOST_COPIES) or 1
    joined = copies(document, nodes, given, where) if nodes > 1 else document
    return {output: link_graph_csv(machine_graph(joined, given, where)[0])}


def _with_known_rates(machine: Machine, given: Given) -> Machine:
    """With rates and latencies that are published or given; none is needed."""
    asked = Given(given.texts)
    links = tuple(
        replace(link, gbps=gbps_of(link, machine, asked), latency_ns=latency_of(link, asked))
        for link in machine.links
    )
    given.used |= asked.used
    given.taken += [note for note in asked.taken if note not in given.taken]
    return replace(machine, links=links)
