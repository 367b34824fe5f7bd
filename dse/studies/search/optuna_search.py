"""Search with Optuna: a sampler proposes strategies and systems, and learns from how they end."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from dse.base.errors import InputError
from dse.studies.points import DesignPoint, scenario_of
from dse.studies.search.base import Points, Search, SearchInputs, coverage, none_feasible
from dse.studies.search.feasibility import count_points, refuse_impossible_values
from dse.studies.search.goals import Goals
from dse.studies.search.optuna_trials import Sampler, load_optuna, new_study, quiet
from dse.studies.search.proposals import Explorer, Proposer
from dse.studies.search.view import View
from dse.studies.store import StudyRow

_STARTUP = 48  # random points before anything is modelled; fewer of a small number of samples
_STARTUP_SHARE = 6
_LEAST_STARTUP = 10  # the first population of NSGA-II: uniform over points, which its own draw is not
_EXPLORED = {
    "tpe": 0.2,
    "nsga2": 0.0,
}  # share of random points afterwards: TPE alone stays at a local optimum


def make(inputs: SearchInputs, _: Points) -> Search:
    """Return the search that `search=optuna` names."""
    return OptunaSearch.from_config(inputs)


class OptunaSearch(Search):
    """Proposes `samples` distinct points, a batch at a time, to minimise objectives within budgets.

    What the sampler asks for is moved to the nearest strategy that exists and is new, and the sampler
    learns of the moved one. The first points, and a fifth of the later ones of TPE, are random. Rows come in
    the order of the proposals, so that neither threads nor a resume change what comes next. A row that is
    not ok counts as one that misses a budget by far.

    Raises:
        InputError: Optuna is missing.
    """

    learns = True

    def __init__(
        self,
        view: View,
        goals: Goals,
        *,
        samples: int,
        seed: int,
        sampler: Sampler = "nsga2",
        batch: int = 8,
        notes: Iterable[str] = (),
    ) -> None:
        load_optuna()
        self._view = view
        self._goals = goals
        self._samples = samples
        self._startup = max(_LEAST_STARTUP, min(_STARTUP, samples // _STARTUP_SHARE))
        self._seed = seed
        self._sampler = sampler
        self._batch = batch
        self._rows: dict[str, StudyRow] = {}
        self._given_notes = list(notes)
        self._notes: list[str] = []

    @classmethod
    def from_config(cls, config: SearchInputs) -> OptunaSearch:
        """Return the search that a configuration describes.

        Raises:
            InputError: a budget or objective cannot be parsed, or Optuna is missing.
        """
        from dse.studies.search.config_view import goals_of, view_of

        goals, notes = goals_of(config)
        settings = config.search
        assert settings.samples is not None
        assert settings.batch is not None
        return cls(
            view_of(config.space, config.models, config.systems, scenario_of(config)),
            goals,
            samples=settings.samples,
            seed=settings.seed,
            sampler="tpe" if settings.sampler == "tpe" else "nsga2",
            batch=settings.batch,
            notes=notes,
        )

    def batches(self) -> Iterator[Iterable[DesignPoint]]:
        """See `Search.batches`."""
        self._rows, self._notes = {}, []
        refuse_impossible_values(self._view)
        counted = count_points(self._view)
        if counted is not None:
            feasible, infeasible = counted
            if infeasible and not feasible:
                raise InputError(none_feasible("optuna", infeasible))
            self._notes.append(coverage("optuna", min(self._samples, feasible), feasible, infeasible))
            if 0 < feasible <= self._samples:
                choices = itertools.product(*[range(parameter.size) for parameter in self._view.parameters])
                yield itertools.chain.from_iterable(map(self._view.points, choices))
                return
        with quiet():
            study = new_study(self._sampler, self._seed, self._goals.count, self._startup)
        explorer = Explorer(self._seed, self._startup, _EXPLORED[self._sampler])
        proposer = Proposer(self._view, study, explorer)
        count = 0
        while count < self._samples:
            with quiet():
                proposals = proposer.propose(min(self._batch, self._samples - count))
            if not proposals:
                if not count:
                    raise InputError(f"search: {proposer.shortage()}; relax space.constraints")
                self._notes.append(f"stopped after {count} of {self._samples} points: {proposer.shortage()}")
                self._notes += proposer.notes()
                return
            count += len(proposals)
            yield [proposal.point for proposal in proposals]
            with quiet():
                for proposal in proposals:
                    row = self._rows.pop(proposal.point.key)
                    proposer.learn(proposal, self._goals.values(row), self._goals.violations(row))
        self._notes += proposer.notes()

    def tell(self, row: StudyRow) -> None:
        """See `Search.tell`."""
        assert row.key is not None
        self._rows[row.key] = row

    def notes(self) -> list[str]:
        """See `Search.notes`."""
        return [*self._given_notes, *self._notes]
