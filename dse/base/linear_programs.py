"""Linear programs, also of 0/1 variables: a solution, or the least cost and its proof; by HiGHS (highspy)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from dse.base.cancellation import Cancellation, Deadline
from dse.base.lazy import NDArray, extra, np

Answer = Literal["feasible", "infeasible", "unknown"]
_INFINITY = float("inf")


class Optimum(NamedTuple):
    """The values of a cheapest solution, and per row by how much the cost rises with its bound."""

    values: NDArray[np.float64]
    duals: NDArray[np.float64]


class Program:
    """Variables, by default from 0 to 1 and whole, and rows of bounds on their weighted sums."""

    def __init__(self) -> None:
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.whole: list[bool] = []
        self._costs: list[float] = []
        self._starts = [0]
        self._columns: list[int] = []
        self._weights: list[float] = []
        self._least: list[float] = []
        self._most: list[float] = []

    def __len__(self) -> int:
        """How many variables there are."""
        return len(self.lower)

    def add(self, whole: bool = True, lower: float = 0, upper: float = 1, cost: float = 0) -> int:
        """Return the number of a new variable; not `whole`: the rows leave it 0 or 1 where the others are."""
        self.lower.append(lower)
        self.upper.append(upper)
        self.whole.append(whole)
        self._costs.append(cost)
        return len(self.lower) - 1

    def amount(self, cost: float = 0) -> int:
        """Return the number of a new variable that is any number from 0 on."""
        return self.add(whole=False, upper=_INFINITY, cost=cost)

    def row(
        self, terms: Iterable[tuple[int, float]], least: float = -_INFINITY, most: float = _INFINITY
    ) -> int:
        """Bound the sum of `terms`, which are (variable, weight); return the number of the row."""
        for column, weight in terms:
            self._columns.append(column)
            self._weights.append(weight)
        self._starts.append(len(self._columns))
        self._least.append(least)
        self._most.append(most)
        return len(self._least) - 1

    def solve(
        self, seconds: float, seed: int, cancellation: Cancellation | None = None
    ) -> tuple[Answer, NDArray[np.float64] | None]:
        """Return whether there is a solution, and one; `unknown` at the time limit or when cancelled."""
        highspy, solver = self._solved(seconds, seed, cancellation)
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return "infeasible", None
        if status == highspy.HighsModelStatus.kOptimal:
            return "feasible", np.array(solver.getSolution().col_value)
        return "unknown", None

    def minimised(self, deadline: Deadline, most_s: float) -> Optimum | None:
        """Return a cheapest solution of a program without whole variables; None if the time is too short."""
        # Inner points without a corner of the polytope: corners take many times as long where many tie.
        # Where that ends unsure of its point, a corner is looked for.
        for options in ({"solver": "ipm", "run_crossover": "off"}, {"solver": "simplex"}):
            seconds = most_s if deadline.left_s is None else min(most_s, deadline.left_s)
            highspy, solver = self._solved(seconds, 0, None, options)
            status = solver.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                solution = solver.getSolution()
                return Optimum(np.array(solution.col_value), np.array(solution.row_dual))
            if status != highspy.HighsModelStatus.kUnknown:
                break
        return None

    def _solved(
        self,
        seconds: float,
        seed: int,
        cancellation: Cancellation | None,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> tuple[Any, Any]:
        """The package, and its solver after a run."""
        highspy = load_highspy()
        solver = highspy.Highs()
        for option, value in {
            "output_flag": False,
            "threads": 1,
            "time_limit": max(seconds, 0.01),
            "random_seed": seed % (1 << 31),
            **options,
        }.items():
            solver.setOptionValue(option, value)
        if cancellation is not None:
            token = cancellation

            def stop(event: Any) -> None:
                event.interrupt(token.is_cancelled)

            solver.cbMipInterrupt.subscribe(stop)
            solver.cbSimplexInterrupt.subscribe(stop)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.lower), len(self._least)
        model.col_cost_ = np.array(self._costs)
        model.col_lower_, model.col_upper_ = np.array(self.lower), np.array(self.upper)
        model.row_lower_, model.row_upper_ = np.array(self._least), np.array(self._most)
        kinds = highspy.HighsVarType
        if any(self.whole):
            model.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in self.whole]
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.start_ = np.array(self._starts, dtype=np.int32)
        matrix.index_ = np.array(self._columns, dtype=np.int32)
        matrix.value_ = np.array(self._weights, dtype=np.float64)
        solver.passModel(model)
        solver.run()
        return highspy, solver


def load_highspy() -> Any:
    """Return the package highspy.

    Raises:
        InputError: it is not installed; says how to.
    """
    return extra("highspy", "synthesizer=exact needs the package highspy: pip install 'dse[synthesis]'")
