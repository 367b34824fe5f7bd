"""Search with Optuna: a sampler proposes strategies and systems, and learns from how they end."""

from __future__ import annotations

import contextlib
import itertools
import random
import types
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dse.errors import InputError
from dse.points import DesignPoint
from dse.results import StudyRow
from dse.search.base import Search
from dse.search.goals import NOT_OK, Goals
from dse.search.view import Choice, Parameter, View, by_distance
from dse.strategies.strategy import STRATEGY_FIELDS

if TYPE_CHECKING:
    import optuna

    from dse.config import Config

Sampler = Literal["tpe", "nsga2"]

_ASKS = 32  # of the sampler for one point; then the space is scanned from the last answer on
_SCANNED = 4096  # choices at most
_STARTUP = 48  # random points before anything is modelled; fewer of a small number of samples
_STARTUP_SHARE = 6
_EXPLORED = {
    "tpe": 0.2,
    "nsga2": 0.0,
}  # share of random points afterwards: TPE alone stays at a local optimum
_POPULATION = 10  # of NSGA-II
_FEW = 12  # up to so many values TPE learns faster from categories than from an ordered index
_STRATEGY = "strategy."  # prefix of a strategy's parameters, so that no axis can collide with them


class OptunaSearch(Search):
    """Proposes `samples` distinct points, a batch at a time, to minimise objectives within budgets.

    What the sampler asks for is moved to the nearest strategy that exists and is new, and the sampler is
    told the moved one. The first points, and a fifth of the later ones of TPE, are random. Rows are told in
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
        samples: int = 300,
        seed: int = 0,
        sampler: Sampler = "nsga2",
        batch: int = 8,
        notes: Iterable[str] = (),
    ) -> None:
        """Keep the space; nothing is proposed yet."""
        _optuna()
        self._view = view
        self._goals = goals
        self._samples = samples
        self._startup = max(1, min(_STARTUP, samples // _STARTUP_SHARE))
        self._seed = seed
        self._sampler = sampler
        self._batch = batch
        self._rows: dict[str, StudyRow] = {}
        self._given_notes = list(notes)
        self._notes: list[str] = []

    @classmethod
    def from_config(cls, config: Config) -> OptunaSearch:
        """Return the search that a configuration describes.

        Raises:
            InputError: a budget or objective cannot be parsed, or Optuna is missing.
        """
        from dse.points import scenario_of
        from dse.search.config_view import goals_of, view_of

        goals, notes = goals_of(config)
        settings = config.search
        assert settings.samples is not None
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
        with _quiet():
            study = _study(self._sampler, self._seed, self._goals.count, self._startup)
        explorer = _Explorer(self._seed, self._startup, _EXPLORED[self._sampler])
        proposer = _Proposer(self._view, study, explorer)
        count = 0
        while count < self._samples:
            with _quiet():
                proposals = proposer.propose(min(self._batch, self._samples - count))
            if not proposals:
                if not count:
                    raise InputError(f"search: {proposer.shortage()}; relax space.constraints")
                self._notes.append(f"stopped after {count} of {self._samples} points: {proposer.shortage()}")
                return
            count += len(proposals)
            yield [proposal.point for proposal in proposals]
            with _quiet():
                for proposal in proposals:
                    row = self._rows.pop(proposal.point.key)
                    proposer.learn(proposal, self._goals.values(row), self._goals.violations(row))

    def tell(self, row: StudyRow) -> None:
        """See `Search.tell`."""
        assert row.key is not None
        self._rows[row.key] = row

    def notes(self) -> list[str]:
        """See `Search.notes`."""
        return [*self._given_notes, *self._notes]


@dataclass(frozen=True)
class _Proposal:
    point: DesignPoint
    choice: Choice
    trial: optuna.Trial | None


class _Explorer:
    """Decides which points are random, and draws them uniformly over choices and then strategies."""

    def __init__(self, seed: int, startup: int, share: float) -> None:
        self._random = random.Random(seed)
        self._startup = startup
        self._share = share

    def is_due(self) -> bool:
        """Whether the next point is random."""
        self._startup -= 1
        return self._startup >= 0 or self._random.random() < self._share

    def choice(self, view: View) -> Choice:
        """A random choice."""
        return tuple([self._random.randrange(parameter.size) for parameter in view.parameters])

    def shuffled(self, points: tuple[DesignPoint, ...]) -> list[DesignPoint]:
        """The points in a random order."""
        return self._random.sample(points, len(points))


class _Proposer:
    """Translates between Optuna's trials and points that are new."""

    def __init__(self, view: View, study: optuna.Study, explorer: _Explorer) -> None:
        self._view = view
        self._study = study
        self._explorer = explorer
        self._distributions = _distributions(view)
        self._taken: set[str] = set()
        self._barren: set[Choice] = set()  # choices without a new point
        self._told_excluded: set[Choice] = set()
        self._is_scanned = False

    def propose(self, count: int) -> list[_Proposal]:
        """Return up to `count` new points; fewer only if no more are found."""
        proposals: list[_Proposal] = []
        while len(proposals) < count and (proposal := self._next()) is not None:
            proposals.append(proposal)
        return proposals

    def learn(self, proposal: _Proposal, values: list[float] | None, violations: list[float]) -> None:
        """Tell Optuna how a point ended, as a trial of the point that was evaluated."""
        from optuna.trial import TrialState, create_trial

        system_attrs = {}
        if proposal.trial is not None:
            trials = self._study.get_trials(deepcopy=False)
            system_attrs = dict(trials[proposal.trial.number].system_attrs)  # NSGA-II: the generation
            self._study.tell(proposal.trial, state=TrialState.FAIL)
        constraints = {f"budget {index}": amount for index, amount in enumerate(violations)}
        constraints["ok"] = NOT_OK if values is None else 0.0
        self._study.add_trial(
            create_trial(
                values=[0.0] * len(self._study.directions) if values is None else values,
                params=self._params(proposal),
                distributions=self._distributions,
                system_attrs=system_attrs,
                constraints=constraints,
            )
        )

    def shortage(self) -> str:
        """Say why there are no more points."""
        if self._is_scanned and self._view.choices > _SCANNED:
            return f"no new point in {_SCANNED} neighbouring combinations of models, systems and axes"
        return "the space has no more points" if self._taken else "no combination satisfies the constraints"

    def _next(self) -> _Proposal | None:
        choice: Choice = (0,) * len(self._view.parameters)
        is_random = self._explorer.is_due()
        for _ in range(_ASKS):
            if len(self._barren) == self._view.choices:
                break
            trial = self._study.ask(self._distributions)
            choice = self._explorer.choice(self._view) if is_random else self._asked(trial)
            points = () if choice in self._barren else self._view.points(choice)
            nearest = (
                self._explorer.shuffled(points) if is_random else by_distance(points, self._wanted(trial))
            )
            point = self._take(choice, nearest)
            if point is not None:
                return _Proposal(point, choice, trial)
            self._discard(trial, choice)
        for scanned in itertools.islice(_following(choice, self._view), _SCANNED):
            if scanned in self._barren:
                continue
            point = self._take(scanned, self._view.points(scanned))
            if point is not None:
                return _Proposal(point, scanned, None)
        self._is_scanned = True
        return None

    def _asked(self, trial: optuna.Trial) -> Choice:
        return tuple([trial.params.get(parameter.name, 0) for parameter in self._view.parameters])

    def _wanted(self, trial: optuna.Trial) -> dict[str, int]:
        axes = self._view.strategy_axes
        return {name: values[trial.params.get(_STRATEGY + name, 0)] for name, values in axes.items()}

    def _take(self, choice: Choice, points: Iterable[DesignPoint]) -> DesignPoint | None:
        """Take the first new point."""
        for point in points:
            key = point.key
            if key not in self._taken:
                self._taken.add(key)
                return point
        self._barren.add(choice)
        return None

    def _discard(self, trial: optuna.Trial, choice: Choice) -> None:
        """End a trial without a new point; Optuna learns to leave choices that the constraints exclude."""
        from optuna.trial import TrialState

        is_excluded = choice == self._asked(trial) and not self._view.points(choice)
        if is_excluded and choice not in self._told_excluded:
            self._told_excluded.add(choice)
            trial.set_constraint("ok", NOT_OK)
            self._study.tell(trial, [0.0] * len(self._study.directions))
        else:
            self._study.tell(trial, state=TrialState.FAIL)

    def _params(self, proposal: _Proposal) -> dict[str, int]:
        named = zip(self._view.parameters, proposal.choice, strict=True)
        params = {parameter.name: index for parameter, index in named}
        for name, values in self._view.strategy_axes.items():
            params[_STRATEGY + name] = values.index(getattr(proposal.point.strategy, name))
        return {name: params[name] for name in self._distributions}


def _distributions(view: View) -> dict[str, Any]:
    """One index for each parameter that has a choice: integers where many values are ordered."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    parameters = [*view.parameters]
    for name in STRATEGY_FIELDS:
        values = view.strategy_axes[name]
        parameters.append(Parameter(_STRATEGY + name, len(values), not isinstance(values[0], bool)))
    return {
        parameter.name: IntDistribution(0, parameter.size - 1)
        if parameter.is_ordered and parameter.size > _FEW
        else CategoricalDistribution(range(parameter.size))
        for parameter in parameters
        if parameter.size > 1
    }


def _following(choice: Choice, view: View) -> Iterator[Choice]:
    """All choices once, from `choice` on, the last parameter fastest, round the end."""
    sizes = [parameter.size for parameter in view.parameters]
    for _ in range(view.choices):
        yield choice
        digits = list(choice)
        for position in reversed(range(len(digits))):
            digits[position] = (digits[position] + 1) % sizes[position]
            if digits[position]:
                break
        choice = tuple(digits)


def _study(sampler: Sampler, seed: int, objectives: int, startup: int) -> optuna.Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    made: optuna.samplers.BaseSampler = (
        optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup, multivariate=True)
        if sampler == "tpe"
        else optuna.samplers.NSGAIISampler(seed=seed, population_size=_POPULATION)
    )
    return optuna.create_study(directions=["minimize"] * objectives, sampler=made)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No warnings about features of Optuna that may change."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"optuna(\..*)?")
        warnings.filterwarnings("ignore", category=_optuna().exceptions.ExperimentalWarning)
        yield


def _optuna() -> types.ModuleType:
    try:
        import optuna
    except ImportError:
        raise InputError("search=optuna needs the package optuna: pip install 'optuna>=5'") from None
    return optuna
