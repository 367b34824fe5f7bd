"""Plans of MSCCL++ with packets and switch channels, written by hand as its language writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dse.collectives.interpret.mscclpp import interpret_plan

Json = dict[str, Any]
NOP: Json = {"name": "nop"}


def local(buffer: str, index: int) -> Json:
    return {"type": buffer, "index": index, "size": 1}


def packet(name: str, sources: list[Json], targets: list[Json]) -> Json:
    """An operation of packets; its language names no channels in it."""
    return {"name": name, "src_buff": sources, "dst_buff": targets, "channel_type": "memory"}


def plan(collective: str, chunks: tuple[int, int, int], gpus: list[list[list[Json]]], **changes: Any) -> str:
    """GPUs with blocks of operations. Channel and remote scratch i of a GPU are those of its i-th peer."""
    found = []
    for gpu, blocks in enumerate(gpus):
        peers = [other for other in range(len(gpus)) if other != gpu]
        numbers = list(range(len(peers)))
        found.append(
            {
                "id": gpu, "input_chunks": chunks[0], "output_chunks": chunks[1], "scratch_chunks": chunks[2],
                "threadblocks": [
                    {
                        "id": number, "ops": operations,
                        "channels": [
                            {"channel_type": "memory", "channel_ids": numbers},
                            {"channel_type": "switch", "channel_ids": [0]},
                        ],
                        "remote_buffer_refs": [
                            {"access_channel_type": "memory", "remote_buffer_ids": numbers}
                        ],
                    }
                    for number, operations in enumerate(blocks)
                ],
                "channels": [{"channel_type": "memory", "connected_to": peers}, changes.get("group", SWITCH)],
                "remote_buffers": [
                    {"rank": peer, "type": "s", "access_channel_types": ["memory"]} for peer in peers
                ],
            }
        )  # fmt: skip
    whole = {
        "collective": collective, "protocol": "LL", "inplace": True, "gpus": found,
        "use_double_scratch_buffer": True, **changes,
    }  # fmt: skip
    return json.dumps(whole)


SWITCH: Json = {"channel_type": "switch", "buffer_type": "i", "rank_groups": [{"size": 1, "ranks": [0, 1]}]}


def there(index: int, peer: int = 0) -> Json:
    """A place in the scratch of a peer."""
    return {"buffer_id": peer, "index": index, "size": 1}


def signals(name: str, channel: int = 0) -> Json:
    return {"name": name, "channel_ids": [channel], "channel_type": "memory"}


def problems(text: str, **options: int) -> tuple[str, ...]:
    return interpret_plan(text, "p.json", **options).problems


def exchange(gpu: int, name: str) -> list[list[Json]]:
    """A chunk goes to its owner, which adds its own and sends the sum back."""
    kept = [local("i", gpu), local("s", 2)] if name in ("recpkt", "recspkt") else [local("i", gpu)]
    sent = [there(1)] if name in ("respkt", "recspkt") else []
    adds = [packet(name, [local("i", gpu), local("s", 0)], [*kept, *sent])]
    if name == "repkt":
        adds += [NOP, packet("ppkt", [local("i", gpu)], [there(1)])]
    if name == "recpkt":
        adds += [packet("rppkt", [local("s", 2)], [there(1)])]
    return [
        [packet("ppkt", [local("i", 1 - gpu)], [there(0)])],
        adds,
        [packet("upkt", [local("s", 1)], [local("i", 1 - gpu)])],
    ]


@pytest.mark.parametrize("name", ["repkt", "respkt", "recpkt", "recspkt"])
def test_a_sum_of_packets_may_be_sent_on_and_kept_as_a_packet(name: str) -> None:
    """A block may write what another has sent, since the packet that it takes was made of that one."""
    right = [exchange(gpu, name) for gpu in (0, 1)]
    assert problems(plan("allreduce", (2, 2, 3), right)) == ()
    other = [exchange(0, name), [*exchange(1, name)[:2], [packet("upkt", [local("s", 2)], [local("i", 0)])]]]
    assert problems(plan("allreduce", (2, 2, 3), other))


@pytest.mark.parametrize(
    ("targets", "problem"),
    [
        ([local("i", 0)], "operation 0 is respkt with 2 sources and 1 targets: too few"),
        ([there(1), there(1)], "operation 0 is respkt with a place of another GPU, which must be of its own"),
        ([local("i", 0), local("i", 1)], "operation 0 has packets outside of scratch"),
        ([local("i", 0), local("s", 1)], "operation 0 sends packets to its own GPU; cpkt stores them there"),
    ],
)
def test_places_that_an_operation_of_packets_cannot_have(targets: list[Json], problem: str) -> None:
    blocks = exchange(0, "respkt")
    blocks[1] = [packet("respkt", [local("i", 0), local("s", 0)], targets)]
    found = problems(plan("allreduce", (2, 2, 3), [blocks, exchange(1, "respkt")]))
    assert found[0] == f"GPU 0, block 1, {problem}"


def relay(is_ready: bool) -> list[list[list[Json]]]:
    """A broadcast from GPU 0 over 1 to 2, each of which may say that it has begun."""
    root = [packet("ppkt", [local("i", 0)], [there(0, 0)]), *[signals("rlxwait", 0)] * is_ready]
    middle = [
        packet("upkt", [local("s", 0)], [local("i", 0)]),
        packet("rppkt", [local("s", 0)], [there(0, 1)]),
    ]
    last = [packet("upkt", [local("s", 0)], [local("i", 0)])]
    if is_ready:
        middle = [signals("rlxsignal", 0), *middle, signals("rlxwait", 1)]
        last = [signals("rlxsignal", 1), *last]
    return [[root], [middle], [last]]


def test_a_packet_is_read_twice_and_waits_for_gpus_that_it_would_overtake() -> None:
    ready = plan("broadcast", (1, 1, 1), relay(is_ready=True), group=_nothing())
    assert problems(ready) == ()
    assert problems(plan("broadcast", (1, 1, 1), relay(is_ready=False), group=_nothing())) == (
        "GPU 0 may overwrite packets of an earlier launch that GPU 1 has not read",
        "GPU 1 may overwrite packets of an earlier launch that GPU 2 has not read",
    )
    one_half = problems(
        ready.replace('"use_double_scratch_buffer": true', '"use_double_scratch_buffer": false')
    )
    assert len(one_half) == 2  # with one half the readers have to say that they are done


def test_one_half_of_scratch_is_enough_if_readers_say_that_they_are_done() -> None:
    def swap(gpu: int, *, says: bool) -> list[list[Json]]:
        done = [NOP, signals("signal"), signals("wait"), NOP] if says else []
        take = packet("upkt", [local("s", 0)], [local("o", 1 - gpu)])
        return [[packet("ppkt", [local("o", gpu)], [there(0)]), take, *done]]

    for says in (True, False):
        text = plan("allgather", (1, 2, 1), [swap(gpu, says=says) for gpu in (0, 1)], group=_nothing())
        assert problems(text) == ()
        found = problems(
            text.replace('"use_double_scratch_buffer": true', '"use_double_scratch_buffer": false')
        )
        assert (found == ()) == says


def test_packets_need_the_protocol_that_makes_room_for_flags() -> None:
    right = [exchange(gpu, "respkt") for gpu in (0, 1)]
    assert problems(plan("allreduce", (2, 2, 3), right, protocol="Simple")) == (
        "GPU 0, block 0 has packets, but the protocol is Simple; LL makes room for flags",
    )


def _nothing() -> Json:
    return {"channel_type": "port", "connected_to": []}


# ---- groups behind switches


def on_switch(index: int, channel: int = 0) -> Json:
    return {"switch_channel_id": channel, "index": index, "size": 1}


READY = [signals("rlxsignal"), signals("rlxwait"), NOP]
DONE = [NOP, signals("signal"), signals("wait"), NOP]


def summed(sources: list[Json], targets: list[Json], name: str = "glres", kind: str = "switch") -> str:
    """GPU 0 adds both inputs and stores the sum into both."""
    operation = {"name": name, "src_buff": sources, "dst_buff": targets, "channel_type": kind}
    blocks = [[[*READY, operation, *DONE]], [[*READY, *DONE]]]
    return plan(
        "allreduce", (2, 2, 0), blocks, group={**SWITCH, "rank_groups": [{"size": 2, "ranks": [0, 1]}]}
    )


def test_a_switch_adds_what_all_members_have() -> None:
    assert problems(summed([on_switch(0)], [on_switch(0)])) == (
        "GPU 0 ends with input 1 of GPU 0 at o1; it must be input 1 of GPU 0, input 1 of GPU 1",
        "GPU 1 ends with input 1 of GPU 1 at o1; it must be input 1 of GPU 0, input 1 of GPU 1",
    )
    whole = {**on_switch(0), "size": 2}
    text = summed([whole], [whole])
    assert problems(text) == ()
    assert interpret_plan(text).switch_steps == 1
    assert problems(text.replace("signal", "rlxsignal").replace("rlxrlx", "rlx"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (summed([on_switch(0)], [local("i", 0)]), "does not store to a switch channel"),
        (summed([local("i", 0)], [on_switch(0)]), "loads from GPUs [0] and stores to [0, 1]"),
        (summed([on_switch(0)], [on_switch(0)], "gstore"), "multicasts what is no buffer of GPU 0"),
        (summed([on_switch(0)], [on_switch(2)]), "takes i2 of 2 on a switch channel"),
        (summed([on_switch(0)], [on_switch(0)], kind="memory"), "is glres on a memory channel"),
        (summed([on_switch(0)], [on_switch(0)], "copy"), "is copy on a switch channel, which takes glres"),
        (summed([{**on_switch(0), "size": 2}], [on_switch(0)]), "moves 2 chunks into 1"),
        (summed([on_switch(0)] * 2, [on_switch(0)]), "has 2 sources and 1 targets; glres has one each"),
    ],
)  # fmt: skip
def test_places_that_an_operation_of_a_switch_cannot_have(text: str, problem: str) -> None:
    assert f"GPU 0, block 0, operation 3 {problem}" in problems(text)[0]


@pytest.mark.parametrize(
    ("ranks", "problem"),
    [
        ([0], "a switch channel of GPUs [0]; it must name two or more GPUs once each, itself among them"),
        ([1, 0, 1], "it must name two or more GPUs once each, itself among them"),
        ([0, 5], "it must name two or more GPUs once each, itself among them"),
        ([1, 0], "GPU 0 has a switch channel of GPUs [1, 0], which GPU 1 has not in the same order"),
    ],
)  # fmt: skip
def test_all_members_list_a_group_alike(ranks: list[int], problem: str) -> None:
    data = json.loads(summed([{**on_switch(0), "size": 2}], [{**on_switch(0), "size": 2}]))
    data["gpus"][0]["channels"][1]["rank_groups"][0]["ranks"] = ranks
    assert problem in problems(json.dumps(data))[0]


def test_a_group_and_its_memory_channels_are_in_one_node() -> None:
    text = summed([{**on_switch(0), "size": 2}], [{**on_switch(0), "size": 2}])
    assert problems(text, npus_per_node=2) == ()
    assert problems(text, npus_per_node=1)[:2] == (
        "GPU 0 has a memory channel to 1, which is in another node",
        "GPU 0 has a switch channel to 1, which is in another node",
    )
