"""Lower bounds on suffixes of plans, from the last stage to the first, without labels."""

from __future__ import annotations

import numpy as np

from dse.planner.proofs.stages import Matrix, StageTables, StageTerms


class SuffixBounds:
    """Least sum and least maximum of `count` stages on ranks from `start` and layers from `a` on.

    `sum_ms[count][start]` and `longest_ms[count][start]` are vectors over a. Stages in flight are exact here:
    a stage with `count` - 1 stages after it holds that many micro-batches, and its own.
    """

    def __init__(self, tables: StageTables, unit: int, stages: tuple[int, ...]) -> None:
        self._tables, self._stages = tables, stages
        gpus, layers = tables.problem.cluster.gpus, tables.problem.layers
        end = np.full(layers + 1, np.inf)
        end[layers] = 0.0
        self.sum_ms: list[dict[int, Matrix]] = [{gpus: end}]
        self.longest_ms: list[dict[int, Matrix]] = [{gpus: end}]
        least: dict[tuple[int, int, int], tuple[Matrix, Matrix]] = {}
        for count in range(1, max(stages) + 1):
            sums: dict[int, Matrix] = {}
            longest: dict[int, Matrix] = {}
            in_flight = min(tables.batches, count)
            for after, behind in self.sum_ms[-1].items():
                size = unit
                while size <= after:
                    start = after - size
                    aligned = tables.cost_model == "compat" or start % size == 0
                    reachable = start >= (min(stages) - count) * unit
                    ways = tables.at(start, size) if aligned and reachable else []
                    if ways:
                        key = (start, size, in_flight)
                        if key not in least:
                            least[key] = least_terms(tables, ways, in_flight, after == gpus)
                        total, most = least[key]
                        total = (total + behind[None, :]).min(axis=1)
                        most = np.maximum(most, self.longest_ms[-1][after][None, :]).min(axis=1)
                        sums[start] = np.minimum(sums.get(start, total), total)
                        longest[start] = np.minimum(longest.get(start, most), most)
                    size *= 2
            self.sum_ms.append({s: v for s, v in sums.items() if np.isfinite(v).any()})
            self.longest_ms.append({s: longest[s] for s in self.sum_ms[-1]})

    def root_ms(self) -> float:
        """Return a bound on every plan of the block; infinite where none fits."""
        tables = self._tables
        generators = tables.rule.batch_generator_ms(tables.types[0]) * tables.batches
        roots = [
            (tables.batches - 1) * float(self.longest_ms[count][0][0]) + float(self.sum_ms[count][0][0])
            for count in self._stages
            if 0 in self.sum_ms[count] and np.isfinite(self.sum_ms[count][0][0])
        ]
        return min(roots, default=float("inf")) + generators


def least_terms(
    tables: StageTables, ways: list[StageTerms], in_flight: int, last: bool
) -> tuple[Matrix, Matrix]:
    """Return the least time added to the sum, and to the maximum, over ways, [first, end]."""
    total = most = np.full_like(ways[0].execution_ms, np.inf)
    for way in ways:
        execution = np.where(way.in_flight >= in_flight, way.execution_ms, np.inf)
        if last:
            total = np.minimum(total, execution + way.gap_ms)
            if np.isfinite(way.gap_ms):
                most = np.minimum(most, execution)
            continue
        link = np.full(execution.shape[1], min(cut for cut, _ in way.link_ms.values()))
        link[-2] = min(before_last for _, before_last in way.link_ms.values())
        total = np.minimum(total, execution + link[None, :])
        most = np.minimum(most, execution + (link[None, :] if tables.cost_model == "strict" else 0.0))
    return total, most
