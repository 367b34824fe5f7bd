"""Cases of the form "three collectives on an otherwise idle system", one JSON object a line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dse.base.errors import InputError
from dse.base.trace_nodes import COLLECTIVE, COLLECTIVE_TYPES, INT64, STRING
from dse.inputs.systems import SystemSpec
from dse.native import _engine
from dse.simulation.validation.compare import Case, Expected
from dse.simulation.validation.points import per_rank, system_of
from dse.simulation.workloads import DEFAULT_REFERENCE, Reference, Workload, workload_of

MEMORY_BANDWIDTH_GBPS = 1600.0  # of the recorded runs; their file does not say it, their reductions do
_NONE = 0  # the kind of an attribute without a value


def collective_case(record: Mapping[str, Any], place: str) -> Case:
    """Return the case of a record; `place` (file and line) is for messages.

    Raises:
        InputError: a key is missing, or the collective is unknown.
    """
    try:
        network, expected = record["network"], record["expected"]
        collective, groups = record["collective"], record["groups"]
        npus = math.prod(dimension["npus"] for dimension in network)
        if collective not in COLLECTIVE_TYPES:
            raise InputError(
                f"{place}: collective is '{collective}'; allowed are {', '.join(COLLECTIVE_TYPES)}"
            )

        settings = {
            **record,
            "collectives": dict.fromkeys(COLLECTIVE_TYPES, record["algorithm"]),
            "peak_tflops": 1.0,
            "memory_bandwidth_gbps": MEMORY_BANDWIDTH_GBPS,
        }
        system = system_of(record["id"], settings)
        comm_size = record["comm_size"]
        if isinstance(comm_size, bool) or not isinstance(comm_size, int) or not 0 <= comm_size < 2**63:
            raise InputError(f"{place}: comm_size is {comm_size!r}; it must be an integer from 0")
        check_groups(groups)

        def load(reference: Reference = DEFAULT_REFERENCE, /) -> tuple[Workload, SystemSpec]:
            del reference  # all read these traces alike
            return three_collectives(npus, collective, comm_size, groups), system

        figures = {key: expected[key] for key in ("finish_ns", "exposed_comm_ns") if key in expected}
        return Case(
            name=record["id"],
            network_model=record["network_model"],
            load=load,
            expected=Expected(expected["status"], per_rank(figures, npus) if figures else None),
        )
    except KeyError as error:
        raise InputError(f"{place}: key {error} is missing") from None


def check_groups(groups: Mapping[str, Any]) -> None:
    """Refuse groups that are not lists of ranks.

    Raises:
        InputError: names the group and what it is.
    """
    for name, members in groups.items():
        if not isinstance(members, list) or not all(type(m) is int and 0 <= m < 2**32 for m in members):
            raise InputError(f"groups.{name} is {members!r}; it must be a list of ranks from 0")


def three_collectives(
    npus: int, collective: str, comm_size: int, groups: Mapping[str, list[int]]
) -> Workload:
    """Return the workload: sizes s, s // 3 and s // 2, the last after the first, on each rank's group."""
    traces = []
    for rank in range(npus):
        group = next((name for name, members in groups.items() if rank in members), None)
        nodes = [
            _node(1, collective, comm_size, group, []),
            _node(2, collective, comm_size // 3, group, []),
            _node(3, collective, comm_size // 2, group, [1]),
        ]
        traces.append(_engine.trace_file(nodes).encode())
    return workload_of(traces, dict(groups))


def _node(node_id: int, collective: str, size: int, group: str | None, deps: list[int]) -> dict[str, Any]:
    attributes: dict[str, tuple[int, Any]] = {
        "inputs": (_NONE, None),
        "outputs": (_NONE, None),
        "comm_size": (INT64, size),
        "comm_type": (INT64, COLLECTIVE_TYPES[collective]),
    }
    if group is not None:
        attributes["pg_name"] = (STRING, group)
    return {
        "id": node_id,
        "name": f"{collective}_{node_id}",
        "type": COLLECTIVE,
        "duration_micros": 0,
        "ctrl_deps": [],
        "data_deps": deps,
        "attributes": attributes,
    }
