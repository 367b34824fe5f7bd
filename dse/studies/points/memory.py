"""Whether every NPU of a system with several types holds what it has to."""

from __future__ import annotations

from dse.base.units import format_bytes
from dse.inputs.systems import SystemSpec
from dse.simulation.simulators import Outcome


def short_of_memory(system: SystemSpec, outcome: Outcome) -> str:
    """Return which type of NPUs has too little memory, and by how much; empty if none or there are no types.

    NPUs that never finish, or whose memory is not tracked, are taken to fit.
    """
    first, problems = 0, []
    for each in system.npu_types:
        classes = set(outcome.class_of_rank[first : first + each.npus])
        metrics = [found for number in classes if (found := outcome.classes[number]) is not None]
        peak = max((found.peak_memory_bytes or 0 for found in metrics), default=0)
        if peak > each.memory_bytes:
            problems.append(
                f"{each.name}: needs {format_bytes(peak)} on an NPU, has {format_bytes(each.memory_bytes)}"
            )
        first += each.npus
    return "; ".join(problems)
