"""The networks that schedules are synthesised for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

_OFTEN = 4096  # NPUs of the largest network whose search is repeated


class Axis(NamedTuple):
    """A dimension of a network, as text so that it can be pickled: shape, size, ns, GB/s."""

    shape: str
    size: int
    latency_ns: str = "500"
    bandwidth_gbps: str = "50"


@dataclass(frozen=True)
class Synthesised:
    """A network by its dimensions, and who synthesises an all-gather of 1 MiB chunks for it.

    `name` finds a recorded figure of TACOS, `series` are those that a curve is drawn through.
    """

    name: str
    axes: Sequence[Axis]
    synthesizer: str
    chunks_per_npu: int = 1
    series: str = ""

    @property
    def trials(self) -> int:
        """How many runs at most: of the greedy search one, which recorded figures are of too."""
        return 1 if self.synthesizer == "greedy" else 20

    def repeats(self, asked: int) -> int:
        """How often it is measured: what takes long, once."""
        return 1 if prod(axis.size for axis in self.axes) > _OFTEN else asked


def full() -> list[Synthesised]:
    """All of them; recorded ones by plain search and, where the links allow it, by symmetry."""
    plain = ("greedy", "restarts")  # a run, as recorded times are, and the best of several
    makers = (*plain, "symmetric")
    found = [Synthesised("mesh 32x32", _grid("line", 32, 32), maker) for maker in plain]
    found += [Synthesised("torus 32x32", _grid("ring", 32, 32), maker) for maker in makers]
    found += [Synthesised("hypercube 2^10", _cube(10), maker) for maker in makers]
    found += [Synthesised("mesh 16x16, 4 chunks per NPU", _grid("line", 16, 16), maker, 4) for maker in plain]
    rows, columns = Axis("line", 24), Axis("line", 24, "500", "75")
    found += [Synthesised("mesh 24x24, rows 50 and columns 75 GB/s", [rows, columns], it) for it in plain]
    for last in (4, 16):
        found += [
            Synthesised(f"ring 4 x clique 8 x switch {last}", rfs(4, 8, last), maker) for maker in makers
        ]
    return found + growing()


def growing() -> list[Synthesised]:
    """Those that curves are drawn through: to some 10,000 NPUs by a plain run, to a million by symmetry."""
    found = []
    for side in (16, 24, 32, 48, 64, 100):
        found.append(_of_series("mesh by plain search", "greedy", _grid("line", side, side)))
        found.append(_of_series("torus by plain search", "greedy", _grid("ring", side, side)))
    for power in (8, 9, 10, 11, 12, 13):
        found.append(_of_series("hypercube by plain search", "greedy", _cube(power)))
    for side in (32, 100, 200, 500, 1000):
        found.append(_of_series("torus by symmetry", "symmetric", _grid("ring", side, side)))
    for power in (10, 13, 16, 18, 20):
        found.append(_of_series("hypercube by symmetry", "symmetric", _cube(power)))
    return found


def quick() -> list[Synthesised]:
    """Small ones, to test the program."""
    return [
        Synthesised("torus 4x4", _grid("ring", 4, 4), "symmetric", series="torus by symmetry"),
        Synthesised("mesh 4x4", _grid("line", 4, 4), "greedy", series="mesh by plain search"),
    ]


def rfs(ring: int, clique: int, switch: int) -> list[Axis]:
    """Rings of 200 GB/s, in cliques with 100 and switches with 50 GB/s per NPU, to 9 digits."""
    return [
        Axis("ring", ring, "500", "200"),
        Axis("full", clique, "500", f"{100 / (clique - 1):.9g}"),
        Axis("full", switch, "1000", f"{50 / (switch - 1):.9g}"),
    ]


def _grid(shape: str, *sizes: int) -> list[Axis]:
    return [Axis(shape, size) for size in sizes]


def _cube(power: int) -> list[Axis]:
    return [Axis("ring", 2)] * power


def _of_series(series: str, synthesizer: str, axes: list[Axis]) -> Synthesised:
    kind = series.split()[0]
    size = f"2^{len(axes)}" if kind == "hypercube" else "x".join(str(axis.size) for axis in axes)
    return Synthesised(f"{kind} {size}, series", axes, synthesizer, series=series)
