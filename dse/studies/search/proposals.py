"""Points that are new: random ones, and those that come nearest to what Optuna asks for."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.studies.points import DesignPoint
from dse.studies.search.goals import NOT_OK
from dse.studies.search.optuna_trials import STRATEGY, distributions
from dse.studies.search.view import Choice, View, by_distance

if TYPE_CHECKING:
    import optuna

_ASKS = 32  # of the sampler for one point; then the space is scanned from the last answer on
_SCANNED = 4096  # choices at most


@dataclass(frozen=True)
class Proposal:
    """A new point, and the trial of Optuna that it answers, if any."""

    point: DesignPoint
    choice: Choice
    trial: optuna.Trial | None


class Explorer:
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


class Proposer:
    """Translates between Optuna's trials and points that are new."""

    def __init__(self, view: View, study: optuna.Study, explorer: Explorer) -> None:
        self._view = view
        self._study = study
        self._explorer = explorer
        self._distributions = distributions(view)
        self._taken: set[str] = set()
        self._barren: set[Choice] = set()  # choices without a new point
        self._told_excluded: set[Choice] = set()
        self._impossible: dict[Choice, str] = {}
        self._is_scanned = False

    def propose(self, count: int) -> list[Proposal]:
        """Return up to `count` new points; fewer only if no more are found."""
        proposals: list[Proposal] = []
        while len(proposals) < count and (proposal := self._next()) is not None:
            proposals.append(proposal)
        return proposals

    def learn(self, proposal: Proposal, values: list[float] | None, violations: list[float]) -> None:
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

    def notes(self) -> list[str]:
        """Say which combinations of axes are no valid model or system."""
        if not self._impossible:
            return []
        first = next(iter(self._impossible.values()))
        return [f"{len(self._impossible)} combinations of axes were left out as impossible, such as: {first}"]

    def _points(self, choice: Choice) -> tuple[DesignPoint, ...]:
        if choice in self._impossible:
            return ()
        try:
            return self._view.points(choice)
        except InputError as error:
            self._impossible[choice] = str(error)
            return ()

    def _next(self) -> Proposal | None:
        choice: Choice = (0,) * len(self._view.parameters)
        is_random = self._explorer.is_due()
        for _ in range(_ASKS):
            if len(self._barren) == self._view.choices:
                break
            trial = self._study.ask(self._distributions)
            choice = self._explorer.choice(self._view) if is_random else self._asked(trial)
            points = () if choice in self._barren else self._points(choice)
            nearest = (
                self._explorer.shuffled(points) if is_random else by_distance(points, self._wanted(trial))
            )
            point = self._take(choice, nearest)
            if point is not None:
                return Proposal(point, choice, trial)
            self._discard(trial, choice)
        for scanned in itertools.islice(_following(choice, self._view), _SCANNED):
            if scanned in self._barren:
                continue
            point = self._take(scanned, self._points(scanned))
            if point is not None:
                return Proposal(point, scanned, None)
        self._is_scanned = True
        return None

    def _asked(self, trial: optuna.Trial) -> Choice:
        return tuple([trial.params.get(parameter.name, 0) for parameter in self._view.parameters])

    def _wanted(self, trial: optuna.Trial) -> dict[str, Any]:
        axes = self._view.strategy_axes
        return {name: values[trial.params.get(STRATEGY + name, 0)] for name, values in axes.items()}

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

        is_excluded = choice == self._asked(trial) and not self._points(choice)
        if is_excluded and choice not in self._told_excluded:
            self._told_excluded.add(choice)
            trial.set_constraint("ok", NOT_OK)
            self._study.tell(trial, [0.0] * len(self._study.directions))
        else:
            self._study.tell(trial, state=TrialState.FAIL)

    def _params(self, proposal: Proposal) -> dict[str, int]:
        named = zip(self._view.parameters, proposal.choice, strict=True)
        params = {parameter.name: index for parameter, index in named}
        for name, values in self._view.strategy_axes.items():
            params[STRATEGY + name] = values.index(getattr(proposal.point.strategy, name))
        return {name: params[name] for name in self._distributions}


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
