"""The strict pricing rule: what a plan takes on the hardware, without Metis's defects (docs/planner.md).

Beyond the defects:

* Links have a third tier: ranks on several islands meet over the least of their hosts' uplinks and the
  cluster's `between_islands_gbps`. Reduction groups that cross a host's uplink at once share either.
* A mixed stage's gap is that of its slowest replica: the sum over the slices of its share. Its activations
  on a link are those of its largest share. A replica with several slices holds the activations of all.
* The batch generator's time is that of the least profile (tensor degree, then batch) of the first type of the
  sequence, the optimizer's time that of the least batch at the stage's type and tensor degree. Profiles of
  batches above the global batch, or of tensor degrees
  that are no powers of two, do not count.
* Memory profiles with totals: further samples in flight add (M[2b] - M[b]) / b each; where M[2b] is missing,
  (M[b] - M[b/2]) / (b/2); where that is missing too, M[b] / b, which is too much but safe.
* Sharding of the optimizer (ZeRO-1) takes 12 (1 - 1/dp) bytes a parameter off a total, which is that of a
  replica that shards nothing, and divides the optimizer's time by dp. Scattering gradients and gathering
  updated parameters moves as many bytes as reducing gradients does, so that term stays.
* A link has the time of one replica's message alone: messages of several replicas of a host, which share its
  uplink, are priced as if each had the whole of it. The simulator tells what that costs ("contention").
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dse.base.errors import InputError
from dse.base.texts import counted
from dse.planner.problem.cluster import Host
from dse.planner.problem.costs.rule import MIB, Infeasible, Placement, PricingRule, shares, slices
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem, ProfileKey, StageCost, plain_sum
from dse.planner.problem.ranks import Ranks

GIB = 2.0**30
BYTES_PER_MS = 1e6  # of 1 GB/s
WEIGHT_AND_GRADIENT_BYTES = 4.0
OPTIMIZER_BYTES = 12.0


class StrictRule(PricingRule):
    """Prices plans by GPU: tensor groups of one type, every layer in one stage, no GPU over its memory."""

    def __init__(self, problem: PlanProblem) -> None:
        super().__init__(problem)
        self._model_bytes = plain_sum(problem.profiles.parameters_bytes)
        if self._model_bytes <= 0:
            raise InputError(
                f"{problem.profiles.source}: parameters_per_layer_bytes are all 0; cost=strict divides the "
                "optimizer's time by them, so a layer must have some"
            )
        self._keys = {
            key
            for key in problem.profiles.profiles
            if key.batch <= problem.gbs and key.tp & (key.tp - 1) == 0
        }
        self._stage_bytes: dict[tuple[int, int], float] = {}
        self._replicas: dict[tuple[object, ...], list[tuple[str, tuple[int, ...]]]] = {}
        self._link_gbps: dict[tuple[tuple[str, ...], int, int], float] = {}
        self._reduction_gbps: dict[tuple[tuple[str, ...], int, int, int], float] = {}

    def check_shape(self, plan: ClusterPlan) -> None:
        """Also: every layer is in a stage, every stage has one, and all stages are priced."""
        super().check_shape(plan)
        for i, (first, end) in enumerate(pairwise(plan.partition)):
            if first == end:
                raise Infeasible(f"stage {i} has no layer")
        if plan.partition[-1] != self.problem.layers or plan.costed != len(plan.groups):
            raise Infeasible(f"partition {list(plan.partition)}: must end at layer {self.problem.layers}")

    def check_memory(self, at: Placement) -> None:
        """Every GPU on its own, in bytes."""
        in_flight = min(at.batches, at.after + 1)
        for type_, parts in dict.fromkeys(self.replicas(at)):
            need, capacity = self.replica_bytes(type_, parts, at), self.capacity_bytes(type_)
            if need > capacity:
                first, last = at.layers[0], at.layers[1] - 1
                layers = f"layer {first}" if first == last else f"layers {first} to {last}"
                batches = counted(in_flight, "micro-batch", "micro-batches")
                raise Infeasible(
                    f"{type_} tp {at.tp} batch {sum(parts)}: {layers} with {batches} in flight: "
                    f"{need / GIB:.1f} GiB a GPU are needed, {capacity / GIB:.1f} GiB may be used",
                    f"memory of {type_}",
                )

    def stage(self, at: Placement) -> StageCost:
        """Execution, link (both directions), reduction and update of a stage, and each GPU's memory."""
        ranks, dealt = self.ranks(at.types), self.replicas(at)
        bytes_of = {replica: self.replica_bytes(*replica, at) for replica in dict.fromkeys(dealt)}
        memory = [bytes_of[replica] for replica in dealt for _ in range(at.tp)]
        execution = max(
            plain_sum(self.layers_ms(type_, at.tp, part, at.layers) for part in parts)
            for type_, parts in bytes_of
        )
        link = self.link_ms(at) if at.following else 0.0
        parameters = self._parameters_bytes(at.layers)
        reduction = self.reduction_ms_per_byte(at) * (parameters / at.tp) if at.dp > 1 else 0.0
        types = ranks.types_in(at.start, at.gpus)
        optimizer = max(self.optimizer_ms(type_, at.tp, at.dp) for type_ in types)
        update = optimizer * (parameters / self._model_bytes)
        return StageCost(execution, link, reduction, update, tuple(memory))

    def link_ms(self, at: Placement) -> float:
        """The hidden states of the largest share, forward and backward."""
        problem, largest = self.problem, max(sum(parts) for _, parts in self.replicas(at))
        sent = float(largest * problem.sequence * problem.hidden * problem.bytes_per_element)
        key = (at.types, at.start, at.gpus + at.following)
        if key not in self._link_gbps:
            self._link_gbps[key] = link_gbps(problem, self.ranks(at.types), *key[1:])
        return 2 * sent / (self._link_gbps[key] * BYTES_PER_MS)

    def reduction_ms_per_byte(self, at: Placement) -> float:
        """Of a ring over dp > 1 replicas, on the slowest of the groups."""
        key = (at.types, at.start, at.gpus, at.tp)
        if key not in self._reduction_gbps:
            self._reduction_gbps[key] = reduction_gbps(self.problem, self.ranks(at.types), *key[1:])
        return 2 * (at.dp - 1) / (at.dp * (self._reduction_gbps[key] * BYTES_PER_MS))

    def gap_ms(self, at: Placement) -> float:
        """The gap of the last stage's slowest working replica, once a micro-batch."""
        gaps = [
            plain_sum(self.profile(type_, at.tp, part).gap_ms for part in parts)
            for type_, parts in dict.fromkeys(self.replicas(at))
            if parts
        ]
        return at.batches * max(gaps)

    def total(self, stages: Sequence[StageCost], gap_ms: float, batches: int, first_type: str) -> PlanCost:
        """Add up from left to right; update and reduction of a stage follow each other."""
        periods = [stage.execution_ms + stage.link_ms for stage in stages]
        cost = (batches - 1) * max(periods) + plain_sum(periods)
        cost += gap_ms
        cost += max(stage.update_ms + stage.reduction_ms for stage in stages)
        generator = self.batch_generator_ms(first_type) * batches
        return PlanCost(cost + generator, tuple(stages), gap_ms, generator)

    def replicas(self, at: Placement) -> list[tuple[str, tuple[int, ...]]]:
        """Return type and profiled batches of each replica: one, or the slices of a mixed stage's share.

        Raises:
            Infeasible: a tensor group would have GPUs of two types, or samples cannot be dealt evenly.
        """
        key = at[:6]
        if key not in self._replicas:
            self._replicas[key] = self._deal(at)
        return self._replicas[key]

    def _deal(self, at: Placement) -> list[tuple[str, tuple[int, ...]]]:
        problem, ranks, dp, tp = self.problem, self.ranks(at.types), at.dp, at.tp
        names = [ranks.types[at.start + replica * tp] for replica in range(dp)]
        if len(ranks.types_in(at.start, at.gpus)) == 1:
            if problem.gbs % (dp * at.batches):
                raise Infeasible(
                    f"{names[0]}: dp {dp} and {at.batches} micro-batches do not divide the global batch, "
                    f"{problem.gbs}",
                    "dp times micro-batches does not divide the global batch",
                )
            return [(names[0], (problem.gbs // (dp * at.batches),))] * dp
        for replica in range(dp):
            group = ranks.types_in(at.start + replica * tp, tp)
            if len(group) > 1:
                raise Infeasible(f"tensor group of {' and '.join(group)}", "a tensor group of several types")
        return self.dealt(names, at)

    def dealt(self, names: Sequence[str], at: Placement) -> list[tuple[str, tuple[int, ...]]]:
        """Deal a micro-batch out to replicas that are as fast as one of a type each."""
        problem = self.problem
        times = [self.layers_ms(name, at.tp, 1, (0, problem.layers)) for name in names]
        dealt = shares(times, problem.gbs // at.batches)
        largest = slices(max(dealt))[0]
        if largest > problem.max_batch:
            raise Infeasible(
                f"a slice of a replica's share is {largest}: above max_batch={problem.max_batch}",
                "a replica's batch is 0 or above max_batch",
            )
        return [(name, tuple(slices(share))) for name, share in zip(names, dealt, strict=True)]

    def replica_bytes(self, type_: str, parts: tuple[int, ...], at: Placement) -> float:
        """Return the bytes that one GPU of a replica needs, with micro-batches in flight."""
        problem, in_flight = self.problem, min(at.batches, at.after + 1)
        parameters = self._parameters_bytes(at.layers) / problem.bytes_per_element / at.tp
        if not problem.profiles.memory_has_states:
            optimizer = OPTIMIZER_BYTES / at.dp if problem.shard_optimizer else OPTIMIZER_BYTES
            activations = plain_sum(self.layers_memory_mb(type_, at.tp, part, at.layers) for part in parts)
            return parameters * (WEIGHT_AND_GRADIENT_BYTES + optimizer) + in_flight * (activations * MIB)
        batch = parts[0] if parts else 1
        total = self.layers_memory_mb(type_, at.tp, batch, at.layers)
        further = max(0, sum(parts) * in_flight - batch)
        if further:
            total += further * self._sample_mb(type_, batch, at)
        sharded = OPTIMIZER_BYTES * (1.0 - 1.0 / at.dp) * parameters if problem.shard_optimizer else 0.0
        return total * MIB - sharded

    def _sample_mb(self, type_: str, batch: int, at: Placement) -> float:
        """The memory that one further sample in flight adds, from profiles of totals."""
        low = self.doubled_batch(type_, at.tp, batch)
        if low is None:
            return self.layers_memory_mb(type_, at.tp, batch, at.layers) / batch
        more = self.layers_memory_mb(type_, at.tp, 2 * low, at.layers)
        return max(0.0, more - self.layers_memory_mb(type_, at.tp, low, at.layers)) / low

    def doubled_batch(self, type_: str, tp: int, batch: int) -> int | None:
        """Return the batch whose profile and its double's say what a sample adds; None if there is none."""
        for low in (batch, batch // 2):
            if {ProfileKey(type_, tp, low), ProfileKey(type_, tp, 2 * low)} <= self._keys:
                return low
        return None

    def capacity_bytes(self, type_: str) -> float:
        """Return what a GPU of a type may use."""
        return self.problem.cluster.memory_gib[type_] * GIB * (1.0 - self.problem.memory_reserve)

    def optimizer_ms(self, type_: str, tp: int, dp: int) -> float:
        """Return the optimizer's time for the whole model: of the least batch that has a profile.

        Replicas that shard the optimizer's states update a share of the parameters each.
        """
        batches = [key.batch for key in self._keys if (key.type, key.tp) == (type_, tp)]
        if not batches:
            raise Infeasible(f"no profile of {type_} tp {tp} at any batch")
        whole = self.profile(type_, tp, min(batches)).optimizer_ms
        return whole / dp if self.problem.shard_optimizer else whole

    def batch_generator_ms(self, first_type: str) -> float:
        """Of the least profile of the type."""
        keys = [key for key in self._keys if key.type == first_type]
        if not keys:
            raise Infeasible(f"no profile of {first_type}")
        return self.profile(*min(keys)).batch_generator_ms

    def _parameters_bytes(self, layers: tuple[int, int]) -> float:
        if layers not in self._stage_bytes:
            parameters = self.problem.profiles.parameters_bytes
            self._stage_bytes[layers] = plain_sum(parameters[layers[0] : layers[1]])
        return self._stage_bytes[layers]


def link_gbps(problem: PlanProblem, ranks: Ranks, start: int, gpus: int) -> float:
    """Return the slowest link among consecutive ranks: inside their host, or between hosts and islands."""
    touched = [ranks.hosts[host] for host in ranks.hosts_in(range(start, start + gpus))]
    if len(touched) == 1:
        return touched[0].intra_gbps
    return min(_uplinks_gbps(problem, touched))


def reduction_gbps(problem: PlanProblem, ranks: Ranks, start: int, gpus: int, tp: int) -> float:
    """Return the bandwidth of the slowest reduction group; groups share the uplinks of hosts they leave.

    Group j is the j-th GPU of every replica: ranks start + j, start + j + tp, ...
    """
    groups = [ranks.hosts_in(range(start + j, start + gpus, tp)) for j in range(tp)]
    crossing: dict[int, int] = {}
    for touched in groups:
        for host in touched if len(touched) > 1 else ():
            crossing[host] = crossing.get(host, 0) + 1
    slowest = []
    for touched in groups:
        hosts = [ranks.hosts[host] for host in touched]
        if len(hosts) == 1:
            slowest.append(hosts[0].intra_gbps)
        else:
            uplinks = zip(_uplinks_gbps(problem, hosts), touched, strict=True)
            slowest.append(min(gbps / crossing[host] for gbps, host in uplinks))
    return min(slowest)


def _uplinks_gbps(problem: PlanProblem, touched: list[Host]) -> list[float]:
    """The bandwidth of each of several hosts to the others: its uplink, or that between differing islands."""
    between = problem.cluster.between_islands_gbps
    if between is not None and len({host.island for host in touched}) > 1:
        return [min(host.inter_gbps, between) for host in touched]
    return [host.inter_gbps for host in touched]
