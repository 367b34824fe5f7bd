"""All-gathers on grids of lines: chunks take the dimensions in turn, some one first and some another."""

from __future__ import annotations

from math import prod

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np
from dse.base.texts import counted
from dse.base.units import format_bytes
from dse.collectives.problem.problem import Problem
from dse.collectives.search.mesh import MOST_LISTED_SENDS, MeshSchedule, gathered, times_along
from dse.collectives.search.synthesizers.base import Effort, Progress, Synthesis, Synthesizer, limited
from dse.inputs.networks.meshes import Mesh

_BYTES_OF_A_SEND = 16
_MOST_BYTES = 1_200_000_000


class Meshes(Synthesizer):
    """All-gather on meshes of any number of dimensions, each with links of one kind.

    A chunk goes along the line of its NPU in one dimension, from all NPUs there along the next, and so on.
    How many chunks begin in which dimension follows from what the links of a corner carry then.
    """

    name = "mesh"

    def obstacle(self, problem: Problem) -> str | None:
        """Why it cannot take a problem, None if it can."""
        if problem.collective.name != "all_gather":
            return f"{problem.collective.name} has no rule for meshes"
        mesh = problem.graph.mesh
        if mesh is None:
            return "the links are no mesh of lines, with one kind of link along each dimension"
        largest = prod(mesh.sizes) // min(mesh.sizes) * problem.collective.chunks * _BYTES_OF_A_SEND
        if len(mesh.sizes) > 1 and largest > _MOST_BYTES:
            return (
                f"it would keep up to {format_bytes(largest)} of sends; it keeps {format_bytes(_MOST_BYTES)}"
            )
        return None

    def is_called_for(self, problem: Problem) -> bool:
        """Whether a problem is so large that other searches take minutes, and this one takes it."""
        collective = problem.collective
        is_large = collective.npus * collective.chunks > MOST_LISTED_SENDS
        return is_large and self.obstacle(problem) is None

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the schedule of the rule, kept as that; see Synthesizer.synthesize."""
        obstacle, mesh = self.obstacle(problem), problem.graph.mesh
        if obstacle or mesh is None:
            raise InputError(f"synthesizer is {self.name}, but {obstacle}; allowed here: synthesizer=auto")
        with limited(effort) as cancellation:
            wave = gathered(problem, mesh, first_dimensions(problem, mesh), cancellation)
        made = MeshSchedule(problem, mesh, (wave,))
        effort.report(Progress(made.time_ps, 1))
        why = f"a rule for meshes: chunks take {counted(len(mesh.sizes), 'dimension')} in turn"
        return Synthesis(made, self.name, 1, why=why)


def first_dimensions(problem: Problem, mesh: Mesh) -> NDArray[np.int32]:
    """Return per chunk the dimension that it takes first: shares that load a corner's links for equally long.

    Along every diagonal of the mesh the dimensions come as evenly as their shares allow.
    """
    shares = _shares(mesh.sizes, times_along(problem, mesh)[1].tolist())
    chunks = np.arange(problem.collective.chunks, dtype=np.int64)
    diagonal = chunks // problem.graph.npus
    for size, stride in zip(mesh.sizes, mesh.strides, strict=True):
        diagonal += chunks % problem.graph.npus // stride % size
    turns = np.zeros(int(diagonal.max()) + 1, dtype=np.int32)
    counts = np.zeros(len(shares))
    for turn in range(len(turns)):
        turns[turn] = int(np.argmax(shares * (turn + 1) - counts))
        counts[turns[turn]] += 1
    return turns[diagonal]


def _shares(sizes: tuple[int, ...], held_ps: list[int]) -> NDArray[np.float64]:
    """By first dimension, how large a part of the chunks takes it."""
    count = len(sizes)
    # Of the chunks that begin with `first`, the part that enters a corner along each dimension.
    entering = np.zeros((count, count))
    for first in range(count):
        passed = 1
        for leg in range(count):
            along = (first + leg) % count
            entering[along, first] = (sizes[along] - 1) * passed / prod(sizes)
            passed *= sizes[along]
    shares = np.zeros(count)
    used = list(range(count))
    while True:
        # What ends with a dimension that takes no chunks of its own need not load it as long as others.
        ends = [(first - 1) % count for first in used]
        rates = np.array([1 / max(1, held_ps[dimension]) for dimension in ends])
        solved = np.linalg.lstsq(entering[ends][:, used], rates, rcond=None)[0]
        if len(used) == 1 or solved.min() > 0:
            shares[used] = solved / solved.sum() if len(used) > 1 else 1.0
            return shares
        del used[int(solved.argmin())]
