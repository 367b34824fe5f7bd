"""Choosing among the synthesizers: what fits the structure and size of a problem, until a bound is met."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace

from dse.base.errors import InputError
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.fixed_algorithms import MOST_SENDS, fixed_algorithms
from dse.collectives.search.freed_chunks import search_sums
from dse.collectives.search.negotiated import negotiated, takes
from dse.collectives.search.overlap import images_kept, trees_from
from dse.collectives.search.reductions import tightened, without_waste
from dse.collectives.search.synthesizers.base import Effort, Overlap, Synthesis, Synthesizer
from dse.collectives.search.synthesizers.exact import Exact
from dse.collectives.search.synthesizers.improve import improved, steps_of_a_trial
from dse.collectives.search.synthesizers.meshes import Meshes
from dse.collectives.search.synthesizers.registry import make_synthesizer

# With more places (chunk, NPU) than these a step takes minutes, and is left out.
_MOST_PLACES_EXACT = 700
_MOST_SUMS_EXACT = 100
_MOST_PLACES_IMPROVED = 20_000
_MOST_PLACES_CHANGED = 100_000  # of trees, each of which grows in a moment
_SECONDS_EXACT = 10.0
# Of large neighbourhoods, each of the steps of all trials; and the sends times steps of them, a second.
_MOST_ROUNDS = 10
_MOVES = 20_000_000
# Trees are packed where the holders have so many chunks each, as their depth counts once, not per chunk;
# a packing costs about a flow for each pair of NPUs, which looks at every link.
_CHUNKS_FOR_TREES = 4
_LINKS_OF_PACKINGS = 200_000_000
# Of trees that are changed one by one, in each trial: a hundredth of a second.
_SENDS_OF_DRAWN_TREES = 200_000


@dataclass
class _Best:
    """The best so far and the story of how it was found."""

    effort: Effort
    ends: float | None
    schedule: Schedule | None = None
    synthesizer: str = ""
    trials: int = 0
    proven_ps: int = 0
    proof: str = ""
    story: str = ""

    @property
    def is_enough(self) -> bool:
        """Whether nothing better is needed, or no time is left."""
        if self.schedule is None:
            return False
        return self.is_late or self.schedule.time_ps <= max(self.effort.enough_ps, self.proven_ps)

    @property
    def is_late(self) -> bool:
        """Whether the time is over, or the search cancelled."""
        cancelled = self.effort.cancellation is not None and self.effort.cancellation.is_cancelled
        return cancelled or (self.ends is not None and time.monotonic() >= self.ends)

    def time_left(self) -> float | None:
        """Seconds until the time limit, None without one."""
        return None if self.ends is None else max(0.0, self.ends - time.monotonic())

    def take(self, schedule: Schedule, name: str, words: str) -> None:
        """Keep a schedule if it is the fastest so far, and note what was tried."""
        is_better = self.schedule is None or schedule.time_ps < self.schedule.time_ps
        if is_better:
            self.schedule, self.synthesizer = schedule, name
        mark = "" if is_better else ", no better"
        self.story += f"{'; ' if self.story else ''}{words}: {schedule.time_ps} ps{mark}"

    def run(self, name: str, problem: Problem, words: str, trials: int | None = None) -> None:
        """Run a synthesizer where it applies, if nothing is good enough yet."""
        maker = make_synthesizer(name)
        if self.is_enough or maker.refusal(problem):
            return
        effort = replace(self.effort, time_limit_s=self.time_left(), trials=trials or self.effort.trials)
        try:
            made = maker.synthesize(problem, effort)
        except InputError:
            if self.schedule is None:
                raise
            return
        self.learn(made)
        self.take(made.schedule, name, words)

    def run_exact(self, problem: Problem) -> None:
        """Search exactly from the best, for some seconds."""
        if self.schedule is None or self.is_enough:
            return
        maker = Exact(self.schedule)
        left = self.time_left()
        effort = replace(self.effort, time_limit_s=_SECONDS_EXACT if left is None else left)
        if problem.collective.kind == "all_reduce":
            made = maker.whole_all_reduce(problem, effort, self.schedule)
        else:
            made = None if maker.refusal(problem) else maker.synthesize(problem, effort)
        if made is not None:
            self.learn(made)
            self.take(made.schedule, "exact", "exact search, as the problem is small")

    def learn(self, made: Synthesis) -> None:
        """Count the trials and keep a bound that a search has proven."""
        self.trials += made.trials
        if made.proven_ps > self.proven_ps:
            self.proven_ps, self.proof = made.proven_ps, made.proof

    def synthesis(self, schedule: Schedule) -> Synthesis:
        """Return what is known, about the best schedule."""
        by = "a bound is met" if schedule.time_ps <= self.effort.enough_ps else ""
        if not by and schedule.time_ps <= self.proven_ps:
            by = self.proof
        why = f"{self.story}; {by}" if by else self.story
        return Synthesis(schedule, self.synthesizer, self.trials, self.proven_ps, self.proof, why)


class Auto(Synthesizer):
    """Runs what fits a problem, the cheapest first, until a bound is met; keeps the best and says why.

    Symmetric trees where the links have translations, a rule for large meshes alone, restarts of the greedy
    searches, the fixed algorithms, trees that images keep, trees that are changed one by one, an improvement
    of large neighbourhoods, trees packed for the best bandwidth where there are many chunks, and an exact
    search where the problem is small. Without a time limit that ends after ten seconds, all else after so
    many trials.
    """

    name = "auto"
    keeps_to_abilities = True

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the best schedule found; see Synthesizer.synthesize."""
        ends = None if effort.time_limit_s is None else time.monotonic() + effort.time_limit_s
        best = _Best(effort, ends)
        best.run("symmetric", problem, "the links have translations, a tree from each NPU")
        if best.schedule is None and Meshes().is_called_for(problem):
            best.run("mesh", problem, "the links are a large mesh, a rule for all chunks")
            if best.schedule is not None:
                return best.synthesis(best.schedule)
        if best.schedule is not None and not best.schedule.can_be_listed:
            return best.synthesis(best.schedule)
        best.run("restarts", problem, f"restarts of greedy searches, {effort.trials} runs")
        if not best.is_enough:
            self._try_fixed(problem, best, None)
        if not best.is_enough:
            _keep_images(best, problem)
        places = problem.graph.npus * problem.collective.chunks
        is_free = not problem.graph.cannot_copy
        if places <= _MOST_PLACES_CHANGED and best.schedule is not None and not best.is_enough:
            _draw_trees(best, best.schedule)
        if is_free and places <= _MOST_PLACES_IMPROVED and best.schedule is not None and not best.is_enough:
            _improve(problem, best, best.schedule)
        if best.schedule is not None and not best.is_enough:
            _negotiate(problem, best, best.schedule)
        if _pack_trees(problem, best) and places <= _MOST_PLACES_IMPROVED and best.schedule is not None:
            _improve(problem, best, best.schedule)
        if places <= _MOST_PLACES_EXACT:
            best.run_exact(problem)
        if best.schedule is None:
            raise InputError("no synthesizer has a schedule for this problem")
        return best.synthesis(best.schedule)

    def whole_all_reduce(
        self, problem: Problem, effort: Effort, best: Schedule, overlap: Overlap
    ) -> Synthesis | None:
        """Return the best of two halves, the fixed algorithms, and an exact search of a small problem."""
        ends = None if effort.time_limit_s is None else time.monotonic() + effort.time_limit_s
        found = _Best(effort, ends)
        found.take(best, "auto", "two halves overlapped")
        if not found.is_enough:
            self._try_fixed(problem, found, overlap)
        is_small = problem.graph.npus * problem.collective.chunks <= _MOST_SUMS_EXACT
        if is_small and not problem.collective.parts:
            found.run_exact(problem)
        return found.synthesis(found.schedule or best)

    @staticmethod
    def _try_fixed(problem: Problem, best: _Best, overlap: Overlap | None) -> None:
        """Take the fastest fixed algorithm too, where playing them is cheap; `overlap`: of an all-reduce."""
        if problem.graph.npus * problem.collective.chunks > MOST_SENDS:
            return
        schedules = fixed_algorithms(problem).schedules
        name = min(schedules, key=lambda name: schedules[name].time_ps, default=None)
        if name is not None:
            schedule = schedules[name]
            if overlap is not None:
                schedule = overlap(schedule, replace(best.effort, time_limit_s=best.time_left()))
            else:
                schedule = tightened(without_waste(schedule))
            best.take(schedule, f"fixed {name}", f"the best fixed algorithm, {name}")


def _draw_trees(best: _Best, start: Schedule) -> None:
    """Change the tree of a chunk or a few at a time, from those of a schedule and from drawn ones."""
    effort = replace(best.effort, time_limit_s=best.time_left())
    with contextlib.suppress(InputError):
        found = trees_from(start, effort, best.effort.trials * _SENDS_OF_DRAWN_TREES)
        if found is not None:
            best.take(found, "changes", "trees of all chunks, changed a few at a time")


def _keep_images(best: _Best, problem: Problem) -> None:
    """Change the tree of one chunk of each orbit; all others follow, so that a few steps change much."""
    found = images_kept(problem, replace(best.effort, time_limit_s=best.time_left()))
    if found is not None:
        best.take(found, "changes", "trees of one chunk of each orbit, which its images follow")


def _pack_trees(problem: Problem, best: _Best) -> bool:
    """Pack trees where there are so many chunks that the bandwidth of links counts more than the depth.

    Return whether they are the best so far, but may be better.
    """
    each, graph = problem.collective.chunks_per_npu, problem.graph
    trials = min(best.effort.trials, _LINKS_OF_PACKINGS // max(1, graph.npus**2 * len(graph)))
    if each >= _CHUNKS_FOR_TREES and trials:
        whose = "the root has" if problem.collective.name == "broadcast" else "each NPU has"
        words = f"trees packed for the best bandwidth, {trials} packings, as {whose} {each} chunks"
        best.run("trees", problem, words, trials)
    return best.synthesizer == "trees" and not best.is_enough


def _negotiate(problem: Problem, best: _Best, start: Schedule) -> None:
    """Trees past switches of which some copy nothing: chunks again, then all of them by prices of links."""
    places = problem.graph.npus * problem.collective.chunks
    if not problem.graph.cannot_copy or places > _MOST_PLACES_IMPROVED or not takes(problem):
        return
    steps = best.effort.trials * steps_of_a_trial(start)
    effort = replace(best.effort, time_limit_s=best.time_left())
    again = tightened(search_sums(problem, start, effort, steps))
    best.take(again, "improve", f"chunks again past switches, {steps} steps")
    if best.is_enough:
        return
    known = min(start, again, key=lambda schedule: schedule.time_ps)
    found = negotiated(problem, known, replace(best.effort, time_limit_s=best.time_left()))
    if found is not None:
        best.take(found, "negotiated", "trees past passive switches, whose sends compete for links by prices")


def _improve(problem: Problem, best: _Best, start: Schedule) -> None:
    """Free parts of the best schedule and solve them again."""
    steps = best.effort.trials * steps_of_a_trial(start)
    rounds = max(1, min(_MOST_ROUNDS, _MOVES // (steps * max(1, len(start)))))
    found = start
    for number in range(rounds):
        seed = best.effort.seed * _MOST_ROUNDS + number
        effort = replace(best.effort, seed=seed, time_limit_s=best.time_left())
        if found.time_ps <= effort.enough_ps or (number and best.is_late):
            break
        with contextlib.suppress(InputError):
            found = improved(problem, found, effort, steps)
    best.take(found, "improve", f"large neighbourhoods, {rounds} times {steps} steps")
