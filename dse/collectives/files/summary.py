"""The result of a synthesis, as plain data and as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dse.base.lazy import NDArray, np
from dse.base.texts import counted, pairs
from dse.base.units import format_bytes, format_duration_ns
from dse.collectives.bounds import Bound
from dse.collectives.files.content import ABILITIES
from dse.collectives.problem.collective import ROOTED, Collective
from dse.collectives.problem.schedule import Schedule
from dse.collectives.problem.settings import Network, Size
from dse.collectives.search.synthesis import Result
from dse.inputs.networks.graph import LIMITS

_MOST_NODES_SHOWN = 12
_CHECKED = {
    "base": "its base; all other sends are translations of it",
    "rule": "all sends of its rule, which are not listed",
}


def summary(result: Result, network: Network, size: Size) -> dict[str, Any]:
    """Return the summary of `summary.json`: times in ps, `gap` as a share of the bound, sizes in bytes."""
    problem = result.schedule.problem
    collective, graph = problem.collective, problem.graph
    best = result.best_fixed
    operation = {"operation_bytes": size.operation_bytes, "padding_bytes": size.padding_bytes}
    return {
        "collective": collective.kind,
        **({"group": list(collective.members)} if len(collective.parts) == 1 else {}),
        "topology": network.name,
        "npus": graph.npus,
        "switches": graph.nodes - graph.npus,
        **{name: sorted(getattr(graph, name)) for name in ABILITIES if getattr(graph, name)},
        **{name: [list(pair) for pair in getattr(graph, name)] for name in LIMITS if getattr(graph, name)},
        "links": len(graph),
        "chunks": collective.chunks,
        "chunks_per_npu": collective.chunks_per_npu,
        **({"root": collective.root_npu} if collective.kind in ROOTED else {}),
        "chunk_bytes": plain(problem.chunk_bytes),
        **(operation if size.operation_bytes is not None else {}),
        **problem.model._asdict(),
        "time_ps": result.time_ps,
        **bound_entries(result.bounds, result.time_ps),
        **({"bounds_are_cut": True} if result.bounds_are_cut and not result.is_optimal else {}),
        "synthesizer": result.synthesizer,
        "why": result.why,
        "seed": result.seed,
        "trials": result.trials,
        "cpu_s": round(result.cpu_s, 6),
        **({"barrier_ps": result.barrier_ps} if result.barrier_ps is not None else {}),
        **_several(result),
        "fixed_algorithms": dict(result.fixed),
        "fixed_left_out": dict(result.left_out),
        "best_fixed": best,
        "times_faster": result.fixed[best] / result.time_ps if best and result.time_ps else None,
        **traffic(result.schedule),
    }


def _several(result: Result) -> dict[str, Any]:
    """Return the time of each of several collectives, at once and alone, and that of one after the other."""
    schedule = result.schedule
    listed = (
        parts_data(schedule.problem.collective, schedule.chunk, schedule.end_ps) if result.alone_ps else []
    )
    if not listed:
        return {}
    listed = [{**own, "alone_ps": ps} for own, ps in zip(listed, result.alone_ps, strict=True)]
    return {"collectives": listed, "one_after_the_other_ps": sum(result.alone_ps)}


def parts_data(
    collective: Collective, chunk: NDArray[Any], end_ps: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Return an entry for each of several collectives, from the chunks of all sends and when they arrive."""
    columns = (collective.parts, collective.firsts, collective.times_of_parts(chunk, end_ps))
    return [
        {
            "collective": part.name,
            "group": list(part.group),
            **({"root": part.group[part.root]} if part.name in ROOTED else {}),
            "priority": part.priority,
            "chunks_per_npu": part.chunks_per_npu,
            "chunks": [first, first + part.collective.chunks],
            "time_ps": time_ps,
        }
        for part, first, time_ps in zip(*columns, strict=True)
    ]


def bound_entries(bounds: tuple[Bound, ...], time_ps: int) -> dict[str, Any]:
    """Return the strongest bound with its argument and nodes, all others, the gap, and if it is closed."""
    best = max(bounds, key=lambda bound: bound.time_ps, default=None)
    bound_ps = best.time_ps if best else 0
    return {
        "bound_ps": bound_ps,
        "bound": best.name if best else "none",
        "bound_text": best.text if best else "nothing has to be sent",
        "bound_nodes": list(best.nodes) if best else [],
        **({"bound_inner_nodes": list(best.inner)} if best and best.inner else {}),
        "bounds": {bound.name: bound.time_ps for bound in bounds},
        "optimal": time_ps <= bound_ps,
        "gap": time_ps / bound_ps - 1 if bound_ps else 0.0,
    }


def traffic(schedule: Schedule) -> dict[str, Any]:
    """Return the number of sends, their bytes, and the share of the time that links are held on average."""
    problem = schedule.problem
    whole = schedule.time_ps * len(problem.graph)
    return {
        "sends": len(schedule),
        "bytes_sent": plain(len(schedule) * problem.chunk_bytes),
        "link_use": schedule.held_ps / whole if whole else 0.0,
    }


def plain(value: Fraction) -> int | float:
    """Return a number as JSON has it: whole ones exactly."""
    return value.numerator if value.denominator == 1 else float(value)


def duration(time_ps: int) -> str:
    """Return a time for people, and exactly."""
    return f"{format_duration_ns(time_ps / 1000)} ({time_ps} ps)"


def summary_text(data: dict[str, Any], more: Sequence[tuple[str, str]] = ()) -> str:
    """Return a summary as lines of a name and a value, with further rows at the end."""
    rows = [
        ("collective", _collective(data)),
        ("network", _network(data)),
        ("time", duration(data["time_ps"])),
        *bound_rows(data),
    ]
    if "barrier_ps" in data:
        rows.append(("with a barrier", duration(data["barrier_ps"])))
    rows += parts_rows(data)
    rows += _fixed(data)
    rows += [
        ("sent", f"{data['sends']} sends, {format_bytes(data['bytes_sent'])}"),
        ("link use", f"{100 * data['link_use']:.1f} % on average"),
        ("synthesizer", f"{data['synthesizer']}, seed {data['seed']}, {data['trials']} runs"),
        ("CPU time", f"{data['cpu_s']:.3g} s"),
        *([("checked", _CHECKED[data["checked"]])] if data.get("checked") in _CHECKED else []),
        *more,
    ]
    return pairs(rows)


def bound_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the strongest bound, its argument, and the gap."""
    nodes = data["bound_nodes"]
    about = f" of {_numbers(nodes)}" if nodes else ""
    is_cut = data.get("bounds_are_cut", False)
    return [
        ("bound", f"{duration(data['bound_ps'])}, {data['bound']}{about}"),
        *(("", sentence) for sentence in data["bound_text"].split(". ")),
        *([("", "the time limit ended the search for bounds; a stronger one may exist")] if is_cut else []),
        ("gap", "0, optimal" if data["optimal"] else f"{100 * data['gap']:.2f} %"),
    ]


def _numbers(nodes: Sequence[int]) -> str:
    return ", ".join(map(str, nodes[:_MOST_NODES_SHOWN])) + (" …" if len(nodes) > _MOST_NODES_SHOWN else "")


def times_as_long(ratio: float) -> str:
    """Return how much longer something takes, for people.

    >>> times_as_long(1), times_as_long(1.00268), times_as_long(1.4937)
    ('equally long', '1.00268 times', '1.49 times')
    """
    text = f"{ratio:.3g}"
    if text == "1":
        text = f"{ratio:.6g}"  # a time that is printed as longer is not called equally long
    return "equally long" if text == "1" else f"{text} times"


def _collective(data: dict[str, Any]) -> str:
    root = f", root {data['root']}" if "root" in data else ""
    if "group" in data:
        root = f" among {_numbers(data['group'])}{root}"
    text = f"{data['collective']}{root}, {counted(data['chunks'], 'chunk')} of {data['chunk_bytes']} bytes"
    if "operation_bytes" in data:
        text += f" ({data['operation_bytes']} bytes and {data['padding_bytes']} of padding)"
    return text


def parts_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what one after the other takes, where it is known, and a row for each of several collectives."""
    rows = []
    if "one_after_the_other_ps" in data:
        rows.append(("one after the other", duration(data["one_after_the_other_ps"])))
    for number, own in enumerate(data.get("collectives", []), 1):
        first = f", priority {own['priority']}" if own["priority"] else ""
        root = f", root {own['root']}" if "root" in own else ""
        times = format_duration_ns(own["time_ps"] / 1000)
        if "alone_ps" in own:
            times += f", alone {format_duration_ns(own['alone_ps'] / 1000)}"
        rows.append(
            (f"{number}", f"{own['collective']} among {_numbers(own['group'])}{root}{first}: {times}")
        )
    return rows


def _network(data: dict[str, Any]) -> str:
    how = " that cut through" if data["forwarding"] == "cut_through" else ""
    switches = f", {counted(data['switches'], 'switch', 'switches')}{how}" if data["switches"] else ""
    for name, verb in zip(ABILITIES, ("copy", "add"), strict=True):
        if name in data:
            switches += f" ({len(data[name])} cannot {verb})"
    engines = "".join(_engines(data[name], name) for name in LIMITS if name in data)
    return f"{data['topology']}: {data['npus']} NPUs{switches}, {data['links']} links{engines}"


def _engines(limits: list[list[int]], name: str) -> str:
    numbers = sorted({most for _, most in limits})
    span = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    what = "sends" if name == "max_sends" else "receives"
    return f", at most {span} {what} at once on {counted(len(limits), 'NPU', 'NPUs')}"


def _fixed(data: dict[str, Any]) -> list[tuple[str, str]]:
    times = sorted(data["fixed_algorithms"].items(), key=lambda item: (item[1], item[0]))
    rows = []
    for position, (name, time_ps) in enumerate(times):
        ratio = time_ps / data["time_ps"] if data["time_ps"] else 1.0
        text = f"{name} {format_duration_ns(time_ps / 1000)}, {times_as_long(ratio)}"
        rows.append(("fixed" if position == 0 else "", text + (", the best" if position == 0 else "")))
    if not rows and data["fixed_left_out"] and "collectives" not in data:
        rows.append(("fixed", f"left out: {next(iter(data['fixed_left_out'].values()))}"))
    return rows
