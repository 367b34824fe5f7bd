"""Plans of MSCCL++ that read from other GPUs, as its language writes them, and files that are no plans."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.collectives.interpret.mscclpp import interpret_plan

Json = dict[str, Any]
NOP: Json = {"name": "nop"}


def on_channel(name: str) -> Json:
    return {"name": name, "channel_ids": [0], "channel_type": "memory"}


READY = [on_channel("rlxsignal"), on_channel("rlxwait"), NOP]
DONE = [NOP, on_channel("signal"), on_channel("wait"), NOP]


def local(index: int) -> Json:
    return {"type": "i", "index": index, "size": 1}


def remote(index: int) -> Json:
    return {"buffer_id": 0, "index": index, "size": 1}


def moves(name: str, sources: list[Json], targets: list[Json]) -> Json:
    return {**on_channel(name), "src_buff": sources, "dst_buff": targets}


def plan(collective: str, chunks: tuple[int, int], *operations: list[Json], **changes: Any) -> str:
    """Two GPUs with a block each; in place, so that every place is one of the larger buffer."""
    buffer = "o" if collective == "allgather" else "i"
    gpus = [
        {
            "id": gpu, "input_chunks": chunks[0], "output_chunks": chunks[1], "scratch_chunks": 0,
            "threadblocks": [{
                "id": 0, "ops": json.loads(json.dumps(each).replace('"type": "i"', f'"type": "{buffer}"')),
                "channels": [{"channel_type": "memory", "channel_ids": [0]}],
                "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
            }],
            "channels": [{"channel_type": "memory", "connected_to": [1 - gpu]}],
            "remote_buffers": [{"rank": 1 - gpu, "type": buffer, "access_channel_types": ["memory"]}],
        }
        for gpu, each in enumerate(operations)
    ]  # fmt: skip
    return json.dumps(
        {"collective": collective, "protocol": "Simple", "inplace": True, "gpus": gpus, **changes}
    )


def gathered(gpu: int, offset: int = 0) -> Json:
    return moves("get", [remote(1 - gpu + offset)], [local(1 - gpu)])


def summed(gpu: int) -> Json:
    return moves("rres", [local(gpu), remote(gpu)], [local(gpu), remote(gpu)])


def problems(text: str) -> tuple[str, ...]:
    return interpret_plan(text, "p.json").problems


def test_an_all_gather_that_gets_is_right_if_no_gpu_ends_before_it_was_read() -> None:
    right = [[*READY, gathered(gpu), *DONE] for gpu in (0, 1)]
    assert problems(plan("allgather", (1, 2), *right)) == ()
    early = [[*READY, gathered(gpu), NOP] for gpu in (0, 1)]
    assert problems(plan("allgather", (1, 2), *early)) == (
        "GPU 0 may end before GPU 1, block 0 has read from it",
        "GPU 1 may end before GPU 0, block 0 has read from it",
    )
    unready = [[gathered(gpu), *DONE] for gpu in (0, 1)]
    assert "reads from GPU 1, which may not have begun" in problems(plan("allgather", (1, 2), *unready))[0]


def test_a_get_with_two_offsets_is_refused_as_the_executor_swaps_them() -> None:
    text = plan("allgather", (1, 2), [*READY, gathered(0, -1), *DONE], [*READY, gathered(1), *DONE])
    assert problems(text)[0].endswith("gets from another offset than it writes to, which the executor swaps")


def test_an_all_reduce_reads_adds_and_sends_in_one_operation() -> None:
    right = [[*READY, summed(gpu), *DONE] for gpu in (0, 1)]
    assert problems(plan("allreduce", (2, 2), *right)) == ()
    twice = [[*READY, summed(gpu), NOP, summed(gpu), *DONE] for gpu in (0, 1)]
    assert any("adds input 0 of GPU 0" in each for each in problems(plan("allreduce", (2, 2), *twice)))
    other = [[*READY, summed(1 - gpu), NOP, summed(gpu), *DONE] for gpu in (0, 1)]
    assert any("data race" in each or "adds" in each for each in problems(plan("allreduce", (2, 2), *other)))


def test_a_sum_that_is_sent_on_reaches_the_other_gpu() -> None:
    first = [
        *READY,
        moves("rre", [local(0), remote(0)], [local(0)]),
        NOP,
        moves("res", [local(0)], [local(0), remote(0)]),
    ]
    second = [*READY, NOP, NOP, NOP]
    assert problems(plan("allreduce", (1, 1), [*first, *DONE], [*second, *DONE])) == ()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"buffer_alignment": 0}, "buffer_alignment is 0; it must be a number of bytes"),
        ({"min_message_size": 9, "max_message_size": 8},
         "min_message_size is 9 and max_message_size 8; they are no range"),
    ],
)  # fmt: skip
def test_sizes_that_no_call_can_have_are_found(changes: Json, problem: str) -> None:
    right = [[*READY, gathered(gpu), *DONE] for gpu in (0, 1)]
    assert problems(plan("allgather", (1, 2), *right, **changes)) == (problem,)


def test_a_channel_or_buffer_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="GPU 1, block 0, operation 0 takes channel 3; there are 1"):
        problems(plan("allgather", (1, 2), READY, [{**READY[0], "channel_ids": [3]}]))
    far = moves("get", [{**remote(1), "buffer_id": 2}], [local(1)])
    with pytest.raises(InputError, match="GPU 0, block 0, operation 0 takes remote buffer 2; there are 1"):
        problems(plan("allgather", (1, 2), [far], READY))
    with pytest.raises(InputError, match="'gpus' is missing in it"):
        problems('{"collective": "allgather"}')
