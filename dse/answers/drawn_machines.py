"""Machines, systems and clusters as text: parts, links with their rates, what each GPU is joined to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from dse.base.errors import excerpt
from dse.base.texts import counted, printable, table
from dse.inputs.machines import CollectiveTimes, Given, HostTree, Machine
from dse.inputs.machines.given import PREFIX
from dse.inputs.machines.machine import CPU, GPU, Link
from dse.inputs.machines.rates import accelerator_of, gbps_of, key_of, latency_of
from dse.inputs.machines.read import Document
from dse.inputs.networks import LinkGraph
from dse.inputs.systems import SystemSpec
from dse.planner.problem.cluster import MixedCluster

_MOST_ROWS = 72
_MOST_ENDS = 8
_WORDS = {"gpu": ("GPU",), "nic": ("NIC",), "cpu": ("CPU",), "switch": ("switch", "switches")}


def document_text(document: Document, given: Given) -> str:
    """Return what a document says as text; `given` are values that the user adds."""
    if isinstance(document, Machine):
        return machine_text(document, given)
    return hosts_text(document) if isinstance(document, HostTree) else times_text(document)


def machine_text(machine: Machine, given: Given) -> str:
    """Return a machine as text; what it does not say are question marks, with the keys that say it."""
    counts = Counter(device.kind for device in machine.devices)
    order = sorted(counts, key=lambda kind: kind != GPU)
    parts = [counted(counts[kind], *_WORDS.get(kind, (kind,))) for kind in order]
    types = sorted({device.accelerator for device in machine.devices if device.accelerator})
    of = f" ({', '.join(types)})" if types else ""
    lines = [f"{machine.name}: {machine.format}: {', '.join(parts)}{of}", ""]
    rates = _Rates(machine, given)
    lines += [*rates.table(), "", *_joined(machine, rates), *_tree(machine)]
    lines += [f"note: {note}" for note in (*machine.notes, *given.taken)]
    accelerator_of(machine, given)
    if given.missing:
        lines.append(
            "not said, and asked for where it is needed: " + ", ".join(PREFIX + key for key in given.missing)
        )
    return "\n".join(map(printable, lines))


class _Rates:
    """Rates and latencies of links, each asked once."""

    def __init__(self, machine: Machine, given: Given) -> None:
        self.machine, self.given = machine, given
        self.known: dict[tuple[str, int, Fraction | None], Fraction | None] = {}

    def of(self, link: Link) -> Fraction | None:
        key = (link.kind, link.count, link.gbps)
        if key not in self.known:
            self.known[key] = gbps_of(link, self.machine, self.given)
        return self.known[key]

    def table(self) -> list[str]:
        """A line for each kind of links."""
        rows = []
        for kind in dict.fromkeys(link.kind for link in self.machine.links):
            links = [link for link in self.machine.links if link.kind == kind]
            rates = sorted({rate / link.count for link in links if (rate := self.of(link)) is not None})
            unknown = any(self.of(link) is None for link in links)
            shown = [f"{float(rate):.4g}" for rate in rates] + (["?"] if unknown else [])
            times = {latency_of(link, self.given) for link in links}
            latency = ", ".join("?" if time is None else f"{float(time):g}" for time in times)
            source = "stated" if all(link.gbps is not None for link in links) else "see below"
            if f"{key_of(kind)}_gbps" in self.given.texts:
                source = "given"
            count = str(sum(link.count for link in links))
            rows.append((kind, str(len(links)), count, _range(shown), latency, source))
        header = ("links", "pairs", "links", "GB/s of one", "ns", "rate is")
        return table(header, rows) if rows else ["no links"]


def _range(shown: Sequence[str]) -> str:
    return ", ".join(shown) if len(shown) < 4 else f"{shown[0]} to {shown[-1]}"


def _joined(machine: Machine, rates: _Rates) -> Iterator[str]:
    """The neighbours of each GPU over links other than PCIe, with the sum of their rates."""
    near: dict[int, list[tuple[int, Link]]] = {gpu: [] for gpu in machine.gpus}
    for link in machine.links:
        one, other = link.ends
        if link.kind == "pcie":
            continue
        for here, there in ((one, other), (other, one)):
            if here in near and not (link.is_one_way and here == other):
                near[here].append((there, link))
    rows = []
    for gpu in [gpu for gpu in machine.gpus if near[gpu]][:_MOST_ROWS]:
        total = [rates.of(link) for _, link in near[gpu]]
        whole = "?" if None in total else f"{float(sum(rate for rate in total if rate is not None)):.5g}"
        most = len(near[gpu]) if len(near[gpu]) <= _MOST_ENDS else _MOST_ENDS - 2
        ends = ", ".join(_bundle(machine, to, link) for to, link in near[gpu][:most])
        more = f", and {len(near[gpu]) - most} more" if most < len(near[gpu]) else ""
        rows.append((machine.devices[gpu].name, whole, ends + more))
    if rows:
        yield from table(("GPU", "GB/s", "joined to"), rows)
        if len(machine.gpus) > _MOST_ROWS:
            yield f"… {len(machine.gpus) - _MOST_ROWS} more GPUs"
        yield ""


def _bundle(machine: Machine, to: int, link: Link) -> str:
    times = f" x{link.count}" if link.count > 1 else ""
    return f"{machine.devices[to].name}{times}"


def _tree(machine: Machine) -> Iterator[str]:
    """The PCIe tree below each CPU."""
    near: dict[int, list[int]] = {}
    for link in machine.links:
        if "pci" in link.kind.lower():
            for here, there in (link.ends, link.ends[::-1]):
                near.setdefault(here, []).append(there)
    roots = [number for number in (machine.of_kind(CPU) or tuple(near)[:1]) if number in near]
    waiting = [(number, 0) for number in reversed(roots)]
    below = {
        here: [there for there in ends if there not in roots and machine.devices[here].kind != GPU]
        for here, ends in near.items()
    }
    shown = 0
    seen: set[int] = set()
    while waiting and shown < 2 * _MOST_ROWS:
        number, depth = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        device = machine.devices[number]
        speed = "" if device.gbit_per_s is None else f"  {float(device.gbit_per_s):g} Gb/s"
        yield f"{'  ' * depth}{device.name}{speed}"
        shown += 1
        waiting += [(child, depth + 1) for child in reversed(below.get(number, ()))]
    if waiting:
        yield f"… {len(waiting)} more branches"
    if shown:
        yield ""


def hosts_text(tree: HostTree) -> str:
    """Return a tree of hosts as text: its switches from the top, with the hosts of each leaf."""
    kind = "block" if tree.kind == "block" else "leaf"
    lines = [
        f"{tree.name}: Slurm topology/{tree.kind}: {counted(tree.hosts, 'node')}, {len(tree.leaves)} x {kind}"
    ]
    for depth, level in enumerate(reversed(tree.levels)):
        names = ", ".join(excerpt(switch) for switch, _ in level[:12]) + (" …" if len(level) > 12 else "")
        sizes = sorted({len(joined) for _, joined in level})
        lines.append(
            f"level {len(tree.levels) + 1 - depth}: {names}: {kind}s joined {', '.join(map(str, sizes))}"
        )
    for leaf, hosts in tree.leaves[:_MOST_ROWS]:
        shown = hosts if len(hosts) < 9 else (*hosts[:4], "…", hosts[-1])
        lines.append(f"  {excerpt(leaf)}  {len(hosts):>5}  {', '.join(map(excerpt, shown))}")
    if len(tree.leaves) > _MOST_ROWS:
        lines.append(f"  … {len(tree.leaves) - _MOST_ROWS} more")
    lines += [f"note: {note}" for note in (*tree.notes, "says not what a node is: machine.system=… or keys")]
    return "\n".join(map(printable, lines))


def times_text(times: CollectiveTimes) -> str:
    """Return measured times of a collective as text: the line that fits them, and the rows."""
    line = times.line()
    hosts = len(set(times.hosts))
    of = f" of {times.accelerator}" if times.accelerator else ""
    lines = [
        f"{times.path.name}: nccl-tests: {times.operation} among {times.ranks} GPUs{of} on "
        f"{counted(hosts, 'host')}",
        f"{line.words}: {line.gbps * times.bus_factor:.5g} GB/s on the bus, "
        f"{line.start_us / times.steps:.3g} us a step of a ring",
        "",
    ]
    rows = [
        (f"{size:.0f}", f"{us:g}", f"{size / us / 1e3:.2f}", f"{line.start_us + size / line.gbps / 1e3:.4g}")
        for size, us in times.rows[:_MOST_ROWS]
    ]
    lines += table(("bytes", "us", "GB/s", "line us"), rows)
    lines.append("note: dse calibrate nccl=… fits the laws of collectives of an accelerator to such tables")
    return "\n".join(map(printable, lines))


def system_text(system: SystemSpec) -> str:
    """Return a system as text: NPUs, and its dimensions or tiers from the inside."""
    chip = "" if system.accelerator is None else f" {system.accelerator.name}"
    lines = [
        f"{system.name}: {system.npus}{chip} NPUs of {system.peak_tflops:g} TFLOPS, {system.network_model}",
        "",
    ]
    if system.cluster is not None:
        header = ("tier", "NPUs", "GB/s of an NPU", "us")
        rows = [
            (t.name, str(t.npus), f"{t.bandwidth_gbps:g}", f"{t.latency_us:g}") for t in system.cluster.tiers
        ]
    else:
        header = ("dimension", "NPUs", "2^30 B/s of a link", "ns a hop")
        rows = [
            (
                f"{d.topology}{' ' + d.file if d.file else ''}",
                str(d.npus),
                "of its links" if d.file else f"{d.bandwidth_gbps:g}",
                "" if d.file else f"{d.latency_ns:g}",
            )
            for d in system.network
        ]
    return "\n".join(map(printable, [*lines, *table(header, rows)]))


def cluster_text(name: str, cluster: MixedCluster) -> str:
    """Return a mixed cluster as text: equal hosts as one line."""
    hosts = Counter((h.type, h.gpus, h.intra_gbps, h.inter_gbps, h.island) for h in cluster.hosts)
    rows = [
        (kind, str(count), str(gpus), f"{inside:g}", f"{out:g}", str(island))
        for (kind, gpus, inside, out, island), count in hosts.items()
    ]
    header = ("type", "nodes", "GPUs each", "GB/s of a GPU", "GB/s of a node", "island")
    lines = [f"{name}: {cluster.gpus} GPUs, a cluster for dse plan", "", *table(header, rows)]
    if cluster.between_islands_gbps is not None:
        lines.append(f"between islands: {cluster.between_islands_gbps:g} GB/s")
    return "\n".join(map(printable, lines))


def graph_text(name: str, graph: LinkGraph) -> str:
    """Return a graph of links as text: kinds of links, and the neighbours of each node."""
    kinds = Counter(graph.kind_of.tolist())
    rows = [
        (f"{float(graph.kinds[k].bandwidth_gbps):g}", f"{float(graph.kinds[k].latency_ns):g}", str(n))
        for k, n in kinds.items()
    ]
    near: dict[int, list[int]] = {}
    for source, to in zip(graph.sources.tolist(), graph.destinations.tolist(), strict=True):
        near.setdefault(source, []).append(to)
    lines = [
        f"{name}: {graph.nodes} nodes, {len(graph)} directed links",
        "",
        *table(("GB/s", "ns", "links"), rows),
        "",
    ]
    for node in sorted(near)[:_MOST_ROWS]:
        ends = " ".join(map(str, sorted(near[node])[:24])) + (" …" if len(near[node]) > 24 else "")
        lines.append(f"{node:>6} > {ends}")
    if len(near) > _MOST_ROWS:
        lines.append(f"… {len(near) - _MOST_ROWS} more nodes")
    return "\n".join(map(printable, lines))
