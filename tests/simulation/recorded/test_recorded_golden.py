"""Real files of PyTorch's profiler and of mlc-chakra: DDP of two ranks with gloo, on CPUs."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest

from dse.base.errors import InputError
from dse.simulation.recorded.pytorch import is_recorded, read_recorded
from dse.simulation.recorded.replay import replayed
from dse.simulation.recorded.step import NodeKind, RecordedStep

GOLDEN = Path(__file__).parents[2] / "golden" / "traces"
STEPS_US = {"_": (23006.445, 26118.0), ".": (8694.0, 7646.0)}
WIDE, NARROW = 256 * 512 + 512 + 512 * 256 + 256, 64 * 128 + 128 + 128 * 8 + 8
"""Parameters of the two models."""


def golden(mark: str, *halves: str) -> list[Path]:
    return [
        GOLDEN / f"{half}{mark}{rank}.json.gz" for half in halves or ("et", "kineto") for rank in range(2)
    ]


def communications(step: RecordedStep) -> list[tuple[str, int, int]]:
    return sorted((c.kind, c.size_bytes, len(c.nodes)) for c in step.communications)


def test_the_bytes_of_all_collectives_are_those_of_the_models() -> None:
    wide, narrow = read_recorded(golden("_")), read_recorded(golden("."))
    assert communications(wide) == [
        ("all_gather", 4, 2), ("all_reduce", 525312, 2), ("all_reduce", 526336, 2), ("barrier", 0, 2),
    ]  # fmt: skip
    assert sum(c.size_bytes for c in wide.communications if c.kind == "all_reduce") == 4 * WIDE
    assert communications(narrow) == [("all_reduce", 4000, 2), ("all_reduce", 4 * NARROW, 2)]
    assert all(c.members == (0, 1) for c in wide.communications + narrow.communications)


@pytest.mark.parametrize("mark", STEPS_US)
def test_a_replay_ends_when_the_steps_ended(mark: str) -> None:
    step = read_recorded(golden(mark))
    played = replayed(step)
    begins = [
        step.start_ns[a:b].min() for a, b in zip(step.rank_first[:-1], step.rank_first[1:], strict=True)
    ]
    assert played.is_trusted
    assert np.abs(played.start_ns - step.start_ns).max() == 0
    for rank, begin in enumerate(begins):  # the time of the profiler, from the first operator on
        assert step.measured_ns[rank] - begin == pytest.approx(1000 * STEPS_US[mark][rank], rel=0.12)


def test_durations_below_a_microsecond_are_kept() -> None:
    step = read_recorded(golden("_"))
    assert (step.duration_ns % 1000 != 0).mean() > 0.9
    assert 0 < step.duration_ns[step.duration_ns > 0].min() < 5000


def test_nodes_of_a_lane_do_not_overlap() -> None:
    step = read_recorded(golden("_"))
    ends = replayed(step).end_ns
    for lane in range(len(step.lanes)):
        nodes = np.flatnonzero(step.lane == lane)
        assert (step.start_ns[nodes[1:]] >= ends[nodes[:-1]]).all()


def test_the_last_rank_of_a_barrier_is_the_one_that_came_last() -> None:
    step = read_recorded(golden("_"))
    barrier = next(at for at, c in enumerate(step.communications) if c.kind == "barrier")
    played = replayed(step)
    assert played.last_rank(barrier) == 0
    nodes = list(step.communications[barrier].nodes)
    starts = step.start_ns[nodes]
    assert played.wait_ns[nodes].max() == starts.max() - starts.min() > 500_000


def test_main_waits_for_gloo() -> None:
    """The host goes on after a collective only when that is done: its own part is the rest."""
    step = read_recorded(golden("_"))
    collectives = np.flatnonzero(step.kind == NodeKind.COLLECTIVE)
    waiting = {int(other) for other in step.before}
    assert set(collectives.tolist()) <= waiting
    slower = replayed(
        RecordedStep(**{**vars(step), "duration_ns": step.duration_ns + 10**7 * (step.communication >= 0)})
    )
    assert (slower.rank_end_ns - replayed(step).rank_end_ns >= 3 * 10**7).all()  # two of four overlap


def test_one_rank_alone_is_replayed_and_says_who_is_missing() -> None:
    step = read_recorded([path for path in golden("_") if "0" in path.name])
    assert step.missing_ranks == (1,)
    assert any("1 rank of 2 not recorded (1)" in note for note in step.notes)
    assert np.abs(replayed(step).errors).max() < 0.15


def test_ranks_are_found_by_content(tmp_path: Path) -> None:
    """Names that say nothing, or the wrong thing."""
    for number, path in enumerate(reversed(golden("_"))):
        (tmp_path / f"file{number}.json").write_bytes(gzip.decompress(path.read_bytes()))
    (tmp_path / "notes.txt").write_text("not a trace")
    named, unnamed = read_recorded(golden("_")), read_recorded([tmp_path])
    assert (unnamed.start_ns == named.start_ns).all()
    assert unnamed.measured_ns.tolist() == named.measured_ns.tolist()


@pytest.mark.parametrize(
    ("half", "missing"), [("et", "its Kineto trace is missing"), ("kineto", "execution trace is missing")]
)
def test_half_of_a_pair_is_refused_by_name(half: str, missing: str) -> None:
    with pytest.raises(InputError, match=missing) as refused:
        read_recorded(golden("_", half))
    assert f"{half}_0.json.gz" in str(refused.value)
    other = "kineto" if half == "et" else "et"
    with pytest.raises(InputError, match=f"{half}_1.*missing"):
        read_recorded([*golden("_", half), golden("_", other)[0]])


def test_halves_of_different_steps_are_refused(tmp_path: Path) -> None:
    trace, kineto = golden("_", "et")[0], golden(".", "kineto")[0]
    text = gzip.decompress(trace.read_bytes()).replace(b'"pid": 22602', b'"pid": 5353')
    other = gzip.decompress(kineto.read_bytes())
    pid = other.split(b'"pid": ', 1)[1].split(b",", 1)[0]
    (tmp_path / "et.json").write_bytes(text.replace(b'"pid": 5353', b'"pid": ' + pid))
    (tmp_path / "kineto.json").write_bytes(other)
    with pytest.raises(InputError, match=r"of another step than .*operators are not there"):
        read_recorded([tmp_path])


def test_files_of_mlc_chakra_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    for rank in range(2):
        packed = (GOLDEN / f"chakra_{rank}.et.gz").read_bytes()
        (tmp_path / f"chakra_{rank}.et").write_bytes(gzip.decompress(packed))
    assert is_recorded(tmp_path / "chakra_0.et")
    step = read_recorded([tmp_path])
    played = replayed(step)
    assert (step.ranks, step.node_count, step.communications) == ((0, 1), 2 * 198, ())
    assert (step.duration_ns % 1000 == 0).all()
    notes = " ".join(step.notes)
    assert "no communication" in notes
    assert "cut to whole µs" in notes
    full = read_recorded(golden("_"))
    assert played.rank_end_ns == pytest.approx(
        full.measured_ns, rel=0.4
    )  # without pauses, and a rank beside the other


def test_a_trace_of_mlc_chakra_without_times_is_refused(tmp_path: Path) -> None:
    from dse.native import _engine

    node = {"id": 1, "name": "x", "type": 4, "attributes": {"rf_id": (9, 1)}}
    path = tmp_path / "x.et"
    path.write_bytes(
        _engine.trace_file([{**node, "duration_micros": 0, "ctrl_deps": [], "data_deps": []}]).encode()
    )
    with pytest.raises(InputError, match="no node has a duration"):
        read_recorded([path])
    nodes = [
        {**node, "id": at, "duration_micros": 1, "ctrl_deps": [3 - at], "data_deps": []} for at in (1, 2)
    ]
    path.write_bytes(_engine.trace_file(nodes).encode())
    with pytest.raises(InputError, match="node 1 waits for itself"):
        read_recorded([path])


def test_a_folder_without_a_recording_says_what_is_allowed(tmp_path: Path) -> None:
    shutil.copy(Path(__file__), tmp_path)
    with pytest.raises(InputError, match="holds no recorded step; allowed are execution traces"):
        read_recorded([tmp_path])
    with pytest.raises(InputError, match="is no part of a recorded step"):
        read_recorded([Path(__file__)])
