"""The compat pricing rule: cost and memory of Metis (2024) to the bit, defects included (docs/planner.md)."""

from __future__ import annotations

from collections.abc import Sequence

from dse.base.errors import InputError
from dse.planner.problem.costs.rule import MIB, Infeasible, Placement, PricingRule, shares, slices
from dse.planner.problem.problem import PlanCost, PlanProblem, StageCost, plain_sum

MEMORY_FACTOR = 5.0
MIB_PER_GIB = 1024


class CompatRule(PricingRule):
    """Prices plans as Metis does. All hosts must have the same number of GPUs."""

    def __init__(self, problem: PlanProblem) -> None:
        super().__init__(problem)
        hosts = problem.cluster.hosts
        for host in hosts:
            if host.gpus != hosts[0].gpus:
                raise InputError(
                    f"host {host.address}: has {host.gpus} GPUs, {hosts[0].address} has {hosts[0].gpus}; "
                    "the compat cost wants hosts of one size: use cost=strict"
                )
        self._gpus_per_host = hosts[0].gpus
        first = problem.profiles.profiles[problem.profiles.first]
        self.optimizer_total_ms = 2 * first.optimizer_ms
        self._batch_generator_ms = first.batch_generator_ms
        self._shares: dict[tuple[tuple[str, ...], int, int, int, int, int], list[int]] = {}

    def check_memory(self, at: Placement) -> None:
        """All GPUs of the stage together against the demand of one replica, in MB."""
        ranks, batch = self.ranks(at.types), self.problem.gbs // (at.dp * at.batches)
        memory_gib = self.problem.cluster.memory_gib
        capacity = 0.0
        for type_ in ranks.types[at.start : at.start + at.gpus]:
            capacity += MIB_PER_GIB * memory_gib[type_]
        table, names = at.types[0], ranks.types_in(at.start, at.gpus)
        demand = 0.001
        if len(names) == 1:
            demand += MEMORY_FACTOR * self.layers_memory_mb(table, at.tp, batch, at.layers)
        else:
            for share in self.split(at, 0, len(ranks.types)):
                for part in slices(share):
                    demand += MEMORY_FACTOR * self.layers_memory_mb(table, at.tp, part, at.layers)
        if capacity - demand < 0:
            raise Infeasible(
                f"{'+'.join(names)} tp {at.tp} batch {batch}: layers {at.layers[0]} to {at.layers[1] - 1} "
                f"need {demand / MIB_PER_GIB:.1f} GiB, the stage's {at.gpus} GPUs have "
                f"{capacity / MIB_PER_GIB:.1f} GiB",
                f"memory of {'+'.join(names)}",
            )

    def stage(self, at: Placement) -> StageCost:
        """Price a stage: execution, the message to the next stage, reduction and update."""
        first, end = at.layers
        link = self.link_ms(at) if at.following else 0.0
        reduction = self.reduction_ms_per_byte(at) * self._parameters(at.tp, at.layers)
        update = (self.optimizer_total_ms / at.tp) * ((end - first) / self.problem.layers)
        return StageCost(self._execution_ms(at), link, reduction, update)

    def link_ms(self, at: Placement) -> float:
        """The message forward, in elements; the logits where the cut is before the last layer."""
        problem, batch = self.problem, self.problem.gbs // (at.dp * at.batches)
        activation = float(batch * problem.sequence * problem.hidden)
        if at.layers[1] == problem.layers - 1:
            activation = batch * problem.sequence * problem.vocabulary / at.tp
        ranks = range(at.start, at.start + at.gpus + at.following)
        return activation / (self._gbps(at.types, ranks) * MIB)

    def reduction_ms_per_byte(self, at: Placement) -> float:
        """Of a ring over dp replicas, on the slowest of the groups."""
        groups = (range(at.start + j, at.start + at.gpus, at.dp) for j in range(at.dp))
        gbps = min(self._gbps(at.types, group) for group in groups)
        return 2 * (at.dp - 1) / (at.dp * (gbps * MIB))

    def gap_ms(self, at: Placement) -> float:
        """A gap of exactly 0 makes the plan unpriced, as a missing profile does."""
        batch = self.problem.gbs // (at.dp * at.batches)
        gaps = []
        for type_ in self.ranks(at.types).types_in(at.start, at.gpus):
            gap = self.profile(type_, at.tp, batch).gap_ms
            if gap == 0:
                raise Infeasible(
                    f"{type_} tp {at.tp} batch {batch}: a gap of 0 ms leaves plans without a price"
                )
            gaps.append(gap)
        return at.batches * max(gaps)

    def total(self, stages: Sequence[StageCost], gap_ms: float, batches: int, first_type: str) -> PlanCost:
        """The cost of the plan, added up in Metis's order."""
        execution = [stage.execution_ms for stage in stages]
        cost = (batches - 1) * max(execution) + plain_sum(execution)
        cost += gap_ms
        cost += max(stage.update_ms for stage in stages)
        cost += max(stage.reduction_ms for stage in stages)
        cost += plain_sum(stage.link_ms for stage in stages[:-1])
        generator = self.batch_generator_ms(first_type) * batches
        return PlanCost(cost + generator, tuple(stages), gap_ms, generator)

    def batch_generator_ms(self, first_type: str) -> float:
        """The first profile's for every type."""
        del first_type
        return self._batch_generator_ms

    def _execution_ms(self, at: Placement) -> float:
        ranks = self.ranks(at.types)
        if len(ranks.types_in(at.start, at.gpus)) == 1:
            batch = self.problem.gbs // (at.dp * at.batches)
            return self.layers_ms(ranks.types[at.start], at.tp, batch, at.layers)
        slowest = 0.0
        for replica, share in enumerate(self.split(at, at.start, at.gpus)):
            type_, time = ranks.types[at.start + replica * at.tp], 0.0
            for part in slices(share):
                if part > self.problem.max_batch:
                    raise Infeasible(
                        f"{type_} tp {at.tp} batch {part}: above max_batch={self.problem.max_batch}",
                        "a replica's batch is 0 or above max_batch",
                    )
                time += self.layers_ms(type_, at.tp, part, at.layers)
            slowest = max(slowest, time)
        return slowest

    def split(self, at: Placement, start: int, gpus: int) -> list[int]:
        """Samples of each replica; a replica is as fast as its first GPU."""
        key = (at.types, start, gpus, at.dp, at.tp, at.batches)
        if key not in self._shares:
            ranks, width = self.ranks(at.types), gpus // at.dp
            model = (0, self.problem.layers)
            times = [self.layers_ms(ranks.types[start + r * width], at.tp, 1, model) for r in range(at.dp)]
            self._shares[key] = shares(times, self.problem.gbs // at.batches)
        return self._shares[key]

    def _parameters(self, tp: int, layers: tuple[int, int]) -> float:
        """Bytes of a stage's parameters; the number of middle layers can be negative."""
        parameters, (first, end) = self.problem.profiles.parameters_bytes, layers
        total, middle = 0.0, end - first
        if first == 0:
            total += parameters[0] / tp
            middle -= 1
        if end == self.problem.layers:
            total += parameters[-1] / tp
            middle -= 1
        return total + (parameters[min(1, len(parameters) - 1)] / tp) * middle

    def _gbps(self, types: tuple[str, ...], ranks: range) -> float:
        """The bandwidth of a set of ranks: of intra-host links even between hosts."""
        order = self.ranks(types)
        touched = dict.fromkeys(rank // self._gpus_per_host for rank in ranks)
        names = {order.hosts[host].type for host in touched}
        bandwidths = [host.intra_gbps for host in self.problem.cluster.hosts if host.type in names]
        return bandwidths[0] if len(touched) == 1 else min(bandwidths)
