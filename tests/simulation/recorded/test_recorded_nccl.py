"""Traces of devices by hand, as with NCCL: launches, streams, waits of the host, groups."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from profiler_files import ALL_REDUCE, SEND, Recording, data_parallel, facts

from dse.simulation.recorded.changes import Changes
from dse.simulation.recorded.classes import CLASSES, Speeds, classes_of
from dse.simulation.recorded.pytorch import read_recorded
from dse.simulation.recorded.replay import replayed
from dse.simulation.recorded.step import NodeKind, RecordedStep


def read(folder: Path, *recordings: Recording) -> RecordedStep:
    for recording in recordings:
        recording.write(folder)
    return read_recorded([folder])


def node(step: RecordedStep, name: str, rank: int = 0) -> int:
    """Return the only node of a rank with a name."""
    first, last = int(step.rank_first[rank]), int(step.rank_first[rank + 1])
    (found,) = [at for at in range(first, last) if step.names[step.name[at]] == name]
    return found


def before(step: RecordedStep, at: int) -> set[str]:
    others = step.before[step.before_first[at] : step.before_first[at + 1]]
    return {step.names[step.name[other]] for other in others}


def test_streams_are_lanes_and_kernels_wait_for_their_launch_and_for_other_streams(tmp_path: Path) -> None:
    step = read(tmp_path, data_parallel(0), data_parallel(1, late=50))
    lanes = {step.lanes[lane].name: step.lanes[lane].is_device for lane in step.lane}
    assert lanes == {"main thread": False, "device 0 stream 7": True, "device 0 stream 20": True}
    assert before(step, node(step, "gemm")) == {"cudaLaunchKernel"}
    assert {"gemm"} <= before(step, node(step, ALL_REDUCE))
    assert {ALL_REDUCE} <= before(step, node(step, "add"))
    assert step.kind[node(step, "gemm")] == NodeKind.KERNEL
    assert step.duration_ns[node(step, "gemm")] == 200_000


def test_the_host_waits_for_kernels_where_it_synchronizes(tmp_path: Path) -> None:
    step = read(tmp_path, data_parallel(0), data_parallel(1))
    wait = node(step, "cudaDeviceSynchronize")
    assert before(step, wait) == {"add", ALL_REDUCE}
    assert (step.start_ns[wait], step.duration_ns[wait]) == (553_000, 7_000)


def test_an_all_reduce_waits_for_the_late_rank(tmp_path: Path) -> None:
    step = read(tmp_path, data_parallel(0), data_parallel(1, late=50))
    (communication,) = step.communications
    assert (communication.kind, communication.size_bytes, communication.members) == (
        "all_reduce",
        2000,
        (0, 1),
    )
    played = replayed(step)
    assert played.waited_for_ns == {(0, 1): 50_000}
    assert step.duration_ns[list(communication.nodes)].tolist() == [193_000, 193_000]
    assert played.errors.tolist() == [0.0, 0.0]
    slower = step.duration_ns.copy()
    slower[node(step, "gemm", 1)] += 1_000_000
    later = replayed(RecordedStep(**{**vars(step), "duration_ns": slower})).rank_end_ns - played.rank_end_ns
    assert later.tolist() == [1_000_000, 1_000_000]


def test_messages_are_matched_in_order_between_ranks_of_their_group(tmp_path: Path) -> None:
    ranks = []
    for rank in range(2):
        made = Recording(rank, 2)
        made.step(1, 0, 200)
        for at in range(2):
            kind, peer = ("send", {"Dst Rank": 1}) if rank == 0 else ("recv", {"Src Rank": 0})
            begin = 10 + 80 * at
            made.host("record_param_comms", begin, begin + 9, **facts(kind, 100 * (at + 1), **peer))
            made.runtime("cudaLaunchKernel", begin + 1, begin + 2, at)
            made.kernel(SEND, begin + 5 + 10 * rank, begin + 40, at, "communication")
        ranks.append(made)
    step = read(tmp_path, *ranks)
    assert [(c.kind, c.size_bytes, c.members) for c in step.communications] == [
        ("message", 200, (0, 1)), ("message", 400, (0, 1)),
    ]  # fmt: skip
    assert set(step.kind[step.communication >= 0].tolist()) == {NodeKind.SEND, NodeKind.RECEIVE}
    assert replayed(step).waited_for_ns == {(0, 1): 20_000}


def test_a_message_without_a_peer_is_said_and_waits_for_nobody(tmp_path: Path) -> None:
    made = Recording(0, 1)
    made.step(1, 0, 100)
    made.host("c10d::send", 10, 14)
    made.runtime("cudaLaunchKernel", 11, 12, 1)
    made.kernel(SEND, 20, 60, 1, "communication")
    made.kernel("older", 2, 5, 99, "compute")
    step = read(tmp_path, made)
    assert step.communications == ()
    notes = " ".join(step.notes)
    assert "1 communication of rank 0 (ncclDevKernel_SendRecv" in notes
    assert "1 kernel of rank 0 without a launch in the step: dropped" in notes


def test_clocks_of_two_hosts_are_not_compared(tmp_path: Path) -> None:
    far = data_parallel(1, late=50)
    far.host_name = "other"
    step = read(tmp_path, data_parallel(0), far)
    assert not step.clocks_agree
    assert "clocks of the ranks cannot be compared (the ranks ran on 2 hosts)" in " ".join(step.notes)
    assert step.duration_ns[list(step.communications[0].nodes)].tolist() == [193_000, 193_000]
    assert np.abs(replayed(step).errors).max() < 0.01


def test_a_backward_pass_on_another_thread_begins_and_ends_with_its_caller(tmp_path: Path) -> None:
    made = Recording(0, 1)
    made.step(1, 0, 1000)
    made.host("aten::mul", 10, 100)
    made.host("autograd::engine::evaluate_function: MulBackward0", 150, 500, thread=999)
    made.host("aten::add", 550, 600)
    step = read(tmp_path, made)
    backward = node(step, "autograd::engine::evaluate_function: MulBackward0")
    assert before(step, backward) == {"aten::mul"}
    assert before(step, node(step, "aten::add")) == {step.names[step.name[backward]]}
    assert step.gap_ns[[backward, node(step, "aten::add")]].tolist() == [50_000, 50_000]


def test_operators_nest_and_keep_their_own_parts(tmp_path: Path) -> None:
    made = Recording(0, 1)
    made.step(1, 0, 100)
    made.host("outer", 10, 50)
    made.host("inner", 20, 30.0005)
    step = read(tmp_path, made)
    outer, inner, rest, end = range(4)
    assert [step.names[at] for at in step.name] == ["outer", "inner", "outer", "end of the step"]
    assert step.duration_ns[[outer, inner, rest, end]].tolist() == [10_000, 10_000, 20_000, 0]
    assert step.gap_ns.tolist() == [10_000, 0, 0, 50_000]
    assert "60.0 % of the step is time of the main thread between operators" in step.notes[-1]


def test_the_last_whole_step_of_all_ranks_is_taken(tmp_path: Path) -> None:
    ranks = []
    for rank, steps in ((0, (4, 5, 6)), (1, (4, 5))):
        made = Recording(rank, 2)
        for number in steps:
            made.step(number, 100 * number, 100 * number + 90)
            made.host(f"operator of step {number}", 100 * number + 10, 100 * number + 20)
        ranks.append(made)
    step = read(tmp_path, *ranks)
    assert {step.names[at] for at in step.name} == {"operator of step 5", "end of the step"}
    assert "step 5 taken of the steps 4 to 5 that the files hold" in step.notes


@pytest.mark.parametrize("late", [0.0, 20.0])
def test_a_lost_rank_of_two_leaves_the_other_as_it_was(tmp_path: Path, late: float) -> None:
    step = read(tmp_path, data_parallel(0, late))
    assert step.missing_ranks == (1,)
    assert replayed(step).errors.tolist() == [0.0]


def test_what_an_older_kineto_does_not_say_is_taken_from_the_execution_trace(tmp_path: Path) -> None:
    for rank in range(2):
        trace, kineto = data_parallel(rank).write(tmp_path)
        data = json.loads(kineto.read_text())
        for event in data["traceEvents"]:
            event["args"] = {
                key: event["args"][key]
                for key in ("Record function id", "correlation")
                if key in event["args"]
            }
        kineto.write_text(json.dumps(data))
        data = json.loads(trace.read_text())
        (node,) = [node for node in data["nodes"] if node["name"] == "record_param_comms"]
        said = {"collective_name": "allreduce", "in_msg_nelems": 1000, "dtype": "BFloat16", "pg_name": "0"}
        node["attrs"] += [{"name": key, "value": value} for key, value in said.items()]
        trace.write_text(json.dumps(data))
    (communication,) = read_recorded([tmp_path]).communications
    assert (communication.kind, communication.size_bytes, communication.members) == (
        "all_reduce",
        2000,
        (0, 1),
    )


def test_the_root_of_a_broadcast_waits_for_no_one(tmp_path: Path) -> None:
    ranks = []
    for rank, begin in enumerate((20, 50)):
        made = Recording(rank, 2)
        made.step(1, 0, 100)
        made.host("record_param_comms", 5, 9, **facts("broadcast", 10))
        made.runtime("cudaLaunchKernel", 6, 7, 1)
        made.kernel("ncclDevKernel_Broadcast_RING_LL", begin, begin + 10, 1, "communication")
        ranks.append(made)
    step = read(tmp_path, *ranks)
    nodes = list(step.communications[0].nodes)
    assert step.waits[nodes].tolist() == [False, True]
    played = replayed(step)
    assert played.end_ns[nodes].tolist() == [30_000, 60_000]
    assert played.waited_for_ns == {}


@pytest.mark.parametrize(
    ("work_us", "measured_ns", "words"),
    [
        (5, [100_000, 90_000], "all begin together with it, as the others only waited longer"),
        (85, [150_000, 140_000], "times are from the begin of the first one"),
    ],
)
def test_a_rank_that_begins_early_to_wait_begins_with_the_last_one(
    tmp_path: Path, work_us: float, measured_ns: list[int], words: str
) -> None:
    """A late stage of a pipeline: the time of the step is not the time since its early begin."""
    first, second = Recording(0, 2), Recording(1, 2)
    first.step(1, 1000, 1100)
    first.host("record_param_comms", 1030, 1035, **facts("send", 10, **{"Dst Rank": 1}))
    first.runtime("cudaLaunchKernel", 1031, 1034, 1)
    first.kernel(SEND, 1040, 1050, 1, "communication")
    second.step(1, 950, 1090)
    second.host("aten::mm", 950, 950 + work_us)
    second.host("record_param_comms", 950 + work_us, 955 + work_us, **facts("recv", 10, **{"Src Rank": 0}))
    second.runtime("cudaLaunchKernel", 951 + work_us, 954 + work_us, 1)
    second.kernel(SEND, 955 + work_us, 1050, 1, "communication")
    second.runtime("cudaDeviceSynchronize", 960 + work_us, 1052, 2)
    step = read(tmp_path, first, second)
    assert step.measured_ns.tolist() == measured_ns
    assert replayed(step).errors.tolist() == [0.0, 0.0]
    assert f"rank 0 began its step 0.050 ms after the first rank: {words}" in step.notes


@pytest.mark.parametrize("on_device", [False, True])
def test_work_in_an_optimizers_step_is_the_optimizers(tmp_path: Path, on_device: bool) -> None:
    made = data_parallel(0) if on_device else Recording()
    made.step(7, 0, 900)
    made.host("aten::mul_", 620, 630)
    made.annotation("Optimizer.step#AdamW.step", 650, 850)
    made.host("aten::add_", 660, 690)
    if on_device:
        made.runtime("cudaLaunchKernel", 670, 680, 9)
        made.kernel("vectorized", 700, 800, 9, "compute")
    made.host("aten::sqrt", 860, 870)
    step = read(tmp_path, made)
    classes = classes_of(step)
    chosen = {step.names[step.name[at]] for at in np.flatnonzero(classes == CLASSES.index("optimizer"))}
    assert chosen == {"optimizer: vectorized" if on_device else "optimizer: aten::add_"}
    saved_ns = replayed(step).step_ns - replayed(step, Changes(speeds=Speeds(optimizer=2))).step_ns
    assert saved_ns == (0 if on_device else 15_000)  # nothing waits for the last kernel


def test_times_of_files_count_from_their_base_times(tmp_path: Path) -> None:
    for rank in range(2):
        _, kineto = data_parallel(rank, late=50.0 * rank).write(tmp_path)
        data = json.loads(kineto.read_text())
        data["baseTimeNanoseconds"] = 1_727_746_522_000_000_000 + rank * 5_000_000
        for event in data["traceEvents"]:
            event["ts"] -= rank * 5_000
        kineto.write_text(json.dumps(data))
    step = read_recorded([tmp_path])
    assert step.clocks_agree
    assert replayed(step).waited_for_ns == {(0, 1): 50_000}
    assert step.measured_ns.tolist() == [900_000, 900_000]


def test_a_copy_of_hip_waits_as_a_synchronization(tmp_path: Path) -> None:
    for rank in range(2):
        for path in data_parallel(rank).write(tmp_path):
            text = path.read_text().replace("cudaDeviceSynchronize", "hipMemcpyWithStream")
            path.write_text(text.replace("cuda", "hip").replace('"hip_runtime"', '"cuda_runtime"'))
    step = read_recorded([tmp_path])
    wait = node(step, "hipMemcpyWithStream")
    assert before(step, wait) == {"add", ALL_REDUCE}
    assert step.duration_ns[wait] == 7_000


def test_runtimes_of_other_devices_launch_kernels(tmp_path: Path) -> None:
    _, kineto = data_parallel(0).write(tmp_path)
    kineto.write_text(kineto.read_text().replace('"cuda_runtime"', '"xpu_runtime"'))
    assert before(read_recorded([tmp_path]), node(read_recorded([tmp_path]), "gemm")) == {"cudaLaunchKernel"}


def test_a_kernel_with_a_collectives_name_communicates_by_any_name(tmp_path: Path) -> None:
    for rank in range(2):
        made = data_parallel(rank)
        for event in made.events:
            if event["name"] == ALL_REDUCE:
                event["name"] = "mscclKernel_Sum_float_LL"
                event["args"] |= {"Collective name": "allreduce"}
        made.write(tmp_path)
    (communication,) = read_recorded([tmp_path]).communications
    assert (communication.kind, communication.size_bytes) == ("all_reduce", 2000)


@pytest.mark.parametrize(
    ("said", "members"),
    [({"Process Group Ranks": "[0, ...]", "Group size": 2}, [(0, 1)]), ({"Process Group Ranks": "[]"}, [])],
)
def test_a_group_without_ranks_is_all_of_them_by_its_size_or_unknown(
    tmp_path: Path, said: dict[str, object], members: list[tuple[int, ...]]
) -> None:
    for rank in range(2):
        made = data_parallel(rank)
        for event in made.events:
            if "Process Group Name" in event["args"]:
                event["args"] |= {"Process Group Name": "undefined", **said}
        made.write(tmp_path)
    step = read_recorded([tmp_path])
    assert [each.members for each in step.communications] == members
    assert ("whose kind, peer or process group the trace does not say" in " ".join(step.notes)) != bool(
        members
    )


def test_kernels_of_a_cuda_graph_without_bytes_are_noted(tmp_path: Path) -> None:
    for rank in range(2):
        made = Recording(rank, 2)
        made.step(1, 0, 900)
        made.host("aten::copy_", 5, 9)
        made.runtime("cudaGraphLaunch", 10, 30, 5)
        made.kernel("gemm", 40, 140, 5, "compute")
        made.kernel(ALL_REDUCE, 141 + 10 * rank, 300, 5, "communication")
        made.runtime("cudaStreamSynchronize", 31, 352, 6)
        made.write(tmp_path)
    step = read_recorded([tmp_path])
    assert [(each.kind, each.size_bytes) for each in step.communications] == [("all_reduce", 0)]
    assert "1 communication (all_reduce) of no bytes, or whose bytes the trace does not say" in " ".join(
        step.notes
    )


@pytest.mark.parametrize(
    ("dtype", "size_bytes"),
    [
        *(("Byte", 1000), ("Bool", 1000), ("Float8_e4m3fn", 1000), ("QInt8", 1000), ("", 1000)),
        *(("Half", 2000), ("torch.bfloat16", 2000), ("UInt16", 2000), ("Short", 2000)),
        *(("Int", 4000), ("Float", 4000), ("uint32", 4000), ("float32", 4000)),
        *(
            ("Long", 8000),
            ("Double", 8000),
            ("ComplexFloat", 8000),
            ("uint64", 8000),
            ("ComplexDouble", 16000),
        ),
    ],
)
def test_bytes_of_elements_follow_the_name_of_their_type(tmp_path: Path, dtype: str, size_bytes: int) -> None:
    made = data_parallel(0)
    for event in made.events:
        if "dtype" in event["args"]:
            event["args"]["dtype"] = dtype
    (communication,) = read(tmp_path, made).communications
    assert communication.size_bytes == size_bytes
