"""Schedules on disk: equal to those that are made, made again where damaged, and never in the way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from threading import Barrier

import pytest
from command_lines import TINY, run_ok

from dse.collectives.made import Recipe, Solved, maker
from dse.collectives.made import kept as kept_schedules
from dse.collectives.problem.schedule import Schedule
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.named import named_network
from dse.simulation.simulators.made_schedules import Made, recipe_of, schedules_for
from dse.studies.store import StudyStore

Plain = list[tuple[object, ...]]
COLLECTIVES = ("all_gather", "all_reduce", "reduce_scatter", "all_to_all")
SYNTHESIZED = [f"system.collectives.{name}=[synthesized]" for name in COLLECTIVES]
FEW = ("space.sp=[1]", "space.pp=[1]", "space.tp=[4]")


def grid(bandwidth_gbps: int = 50) -> LinkGraph:
    """A mesh of six NPUs, whose corners have fewer links."""
    return named_network(f"grid__dim=[3,2]__alpha=500__beta={bandwidth_gbps}").graph


def plain(made: Made) -> Plain:
    """All that a simulation takes from schedules, to compare."""
    columns = ("link", "chunk", "start_ps", "reduce")
    return [
        (*(getattr(curve.schedule, name).tolist() for name in columns), curve.lines, bound_ps, gap)
        for curve, bound_ps, gap in zip(made.curves, made.bounds_ps, made.gaps, strict=True)
    ]


def remade(name: str = "all_gather") -> Plain:
    """What a new process gets: nothing is remembered, only what is on disk."""
    maker._schedules_for.cache_clear()
    return plain(schedules_for(name, grid()))


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """The number of each file, which a rename changes, and when it was used."""
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.iterdir()}


def in_a_process(folder: str, everyone: Barrier) -> Plain:
    """The same in a process of its own, which begins when all others do."""
    os.environ["DSE_CACHE"] = folder
    everyone.wait()
    return remade()


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the test's own schedules."""
    monkeypatch.setenv("DSE_CACHE", str(tmp_path / "cache"))
    maker._schedules_for.cache_clear()
    yield tmp_path / "cache" / "schedules"
    maker._schedules_for.cache_clear()


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The collectives that were searched for, in order."""
    found: list[str] = []
    solve = maker._solved

    def counted(name: str, on: LinkGraph, recipe: Recipe) -> tuple[Solved, ...]:
        found.append(name)
        return solve(name, on, recipe)

    monkeypatch.setattr(maker, "_solved", counted)
    return found


@pytest.mark.parametrize("name", COLLECTIVES)
def test_what_is_read_is_what_was_made(
    name: str, kept: Path, searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = remade(name), remade(name)
    assert searches == [name]
    assert len(list(kept.iterdir())) == 1
    monkeypatch.setenv("DSE_CACHE", "off")

    assert first == second == remade(name)
    assert searches == [name, name]


def test_rows_of_a_study_are_the_same_with_and_without(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(study: str, cache: str, executor: str = "local") -> list[object]:
        monkeypatch.setenv("DSE_CACHE", cache)
        run_ok("sweep", *TINY, *SYNTHESIZED, *FEW, f"study={study}", f"executor={executor}", cwd=tmp_path)
        made = StudyStore(tmp_path / "results" / study).rows()
        return [{**vars(row), "study": None} for row in made]

    without, writes, reads = rows("a", "off"), rows("b", str(kept.parent)), rows("c", str(kept.parent))

    assert any(row["schedules"] for row in without)  # type: ignore[index]
    assert without == writes == reads
    before = files(kept)
    assert without == rows("d", str(kept.parent), "ray")
    after = files(kept)
    assert before
    assert {name: number for name, (number, _) in after.items()} == {
        name: number for name, (number, _) in before.items()
    }  # workers of Ray make none again, as that would be another file,
    assert all(after[name][1] > used for name, (_, used) in before.items())  # but read all


def test_another_synthesizer_or_graph_or_code_has_its_own(
    kept: Path, searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    remade()
    schedules_for("all_gather", grid(), "greedy")
    schedules_for("all_gather", grid(51))
    monkeypatch.setattr(kept_schedules, "code_digest", lambda: "of another release")
    remade()

    assert len(searches) == len(list(kept.iterdir())) == 4


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", [cut, flipped, lambda _: b"", lambda data: data + b"\0"])
def test_a_damaged_file_is_made_again(
    damage: Callable[[bytes], bytes], kept: Path, searches: list[str]
) -> None:
    good = remade()
    (path,) = kept.iterdir()
    data = path.read_bytes()
    path.write_bytes(damage(data))

    assert remade() == good
    assert len(searches) == 2
    assert path.read_bytes() == data


def test_a_file_under_another_name_is_not_trusted(kept: Path, searches: list[str]) -> None:
    remade("all_gather")
    (path,) = kept.iterdir()
    remade("reduce_scatter")
    (other,) = set(kept.iterdir()) - {path}
    path.rename(other)

    remade("reduce_scatter")
    assert searches == ["all_gather", "reduce_scatter", "reduce_scatter"]


def test_a_schedule_that_is_not_valid_is_not_used_whatever_its_checksum_says(
    kept: Path,
) -> None:
    def broken(solved: Solved) -> Solved:
        schedule = solved.schedule
        early = type(schedule).of(
            schedule.problem, schedule.link, schedule.chunk, schedule.start_ps // 2, schedule.reduce
        )
        return Solved(early, 0)

    solved = maker._solved("all_gather", grid(), recipe_of())

    def problem_of(chunks: int, chunk_bytes: int) -> object:
        return maker._problem("all_gather", grid(), recipe_of(), chunks, chunk_bytes)

    kept_schedules.write("good", solved)
    kept_schedules.write("bad", list(map(broken, solved)))

    assert {path.stem for path in kept.iterdir()} == {"good", "bad"}
    assert kept_schedules.read("good", problem_of) is not None  # type: ignore[arg-type]
    assert kept_schedules.read("bad", problem_of) is None  # type: ignore[arg-type]


def test_where_nothing_can_be_written_nothing_is_kept(kept: Path, searches: list[str]) -> None:
    kept.parent.write_text("a file where the folder should be")

    assert remade() == remade()
    assert len(searches) == 2


def test_what_was_used_least_lately_goes_first(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remade("all_gather")
    (first,) = kept.iterdir()
    remade("reduce_scatter")
    (second,) = set(kept.iterdir()) - {first}
    for age, path in enumerate((second, first)):
        os.utime(path, (age, age))
    remade("all_gather")  # is read, so that it is the latest
    os.utime(first, (5, 5))
    size = sum(path.stat().st_size for path in kept.iterdir())
    monkeypatch.setattr(kept_schedules, "MOST_BYTES", size + 1000)
    remade("all_to_all")

    assert not second.exists()
    assert sum(path.stat().st_size for path in kept.iterdir()) <= size + 1000


def test_what_others_have_in_the_folder_stays(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (kept / "old.schedules").mkdir(parents=True)
    (kept / "thesis.txt").write_text("years of work")
    for path in kept.iterdir():
        os.utime(path, (1, 1))
    monkeypatch.setattr(kept_schedules, "MOST_BYTES", 20_000)
    remade("all_gather")
    remade("reduce_scatter")

    files_of_ours = [path for path in kept.glob("*.schedules") if path.is_file()]
    assert (kept / "thesis.txt").read_text() == "years of work"
    assert (kept / "old.schedules").is_dir()
    assert sum(path.stat().st_size for path in files_of_ours) <= 20_000


def test_columns_of_other_types_and_no_schedules_at_all_are_not_used(kept: Path) -> None:
    """Only who can write the folder makes such a file, whose checksum is right."""
    solved = maker._solved("all_gather", grid(), recipe_of())

    def problem_of(chunks: int, chunk_bytes: int) -> object:
        return maker._problem("all_gather", grid(), recipe_of(), chunks, chunk_bytes)

    def complex_starts(one: Solved) -> Solved:
        made = one.schedule
        starts = made.start_ps.astype(complex)
        changed = Schedule(made.problem, made.link, made.chunk, starts, made.reduce)  # type: ignore[arg-type]
        return Solved(changed, one.bound_ps)

    kept_schedules.write("complex", list(map(complex_starts, solved)))
    kept_schedules.write("below", [Solved(one.schedule, -5) for one in solved])
    kept_schedules.write("empty", [])

    assert {path.stem for path in kept.iterdir()} == {"complex", "below", "empty"}
    for key in ("complex", "below", "empty"):
        assert kept_schedules.read(key, problem_of) is None  # type: ignore[arg-type]


def test_reading_makes_a_file_the_latest(kept: Path) -> None:
    remade()
    (path,) = kept.iterdir()
    os.utime(path, (1, 1))
    remade()

    assert path.stat().st_mtime > 1


def test_several_processes_at_once_agree(kept: Path) -> None:
    spawned = get_context("spawn")
    with spawned.Manager() as manager, ProcessPoolExecutor(3, spawned) as pool:
        found = list(pool.map(in_a_process, [str(kept.parent)] * 3, [manager.Barrier(3)] * 3))

    assert found == [remade()] * 3
    assert len(list(kept.iterdir())) == 1  # and no temporary file


@pytest.mark.parametrize(
    ("chosen", "caches", "expected"),
    [
        ("off", "/var/caches", None),
        ("", "/var/caches", Path("/var/caches/dse/schedules")),
        ("", "", Path("/home/anna/.cache/dse/schedules")),
        ("", "relative", Path("/home/anna/.cache/dse/schedules")),
        ("/data/dse", "/var/caches", Path("/data/dse/schedules")),
    ],
)
def test_where_they_are(
    chosen: str, caches: str, expected: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/anna")
    monkeypatch.setenv("XDG_CACHE_HOME", caches)
    monkeypatch.setenv("DSE_CACHE", chosen)

    assert kept_schedules.folder() == expected
