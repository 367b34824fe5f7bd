"""All-reduces past switches that keep sums for a while become programs of runtimes that end and are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.collectives.files.msccl import schedule_msccl
from dse.collectives.files.mscclpp import schedule_plan
from dse.collectives.files.mscclpp_workers import PlanOptions
from dse.collectives.interpret.msccl import interpret_msccl
from dse.collectives.interpret.mscclpp import interpret_plan
from dse.collectives.question import question_of, synthesized

TWO_SWITCHES = "".join(
    f"{one},{other},500,50\n{other},{one},500,50\n"
    for one, other in ((0, 4), (1, 4), (3, 4), (2, 5), (4, 5), (1, 3))
)


@pytest.mark.parametrize("per_npu", [1, 2, 3])
def test_sums_that_two_switches_keep_for_a_while_are_messages_in_an_order_that_ends(
    tmp_path: Path, per_npu: int
) -> None:
    """Chunks wait at switches for others to be added: past them several messages of a queue are under way.

    The one that leaves first replaces what is there, though a switch may have got it last.
    """
    path = tmp_path / "two.csv"
    path.write_text(f"6\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n{TWO_SWITCHES}")
    asked = {"topology": str(path), "npus": "4", "collective": "all_reduce", "trials": "3"}
    schedule = synthesized(question_of({**asked, "chunks_per_npu": str(per_npu)}, None)).schedule
    assert interpret_msccl(schedule_msccl(schedule, "two")).problems == ()
    assert interpret_plan(schedule_plan(schedule, "two", PlanOptions())).problems == ()
