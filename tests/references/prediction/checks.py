"""Plans that cannot run, and why."""

from __future__ import annotations

from dse.base.errors import InputError
from dse.inputs.accelerators.algorithms import DEFAULT_ALGORITHMS
from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.models.matrices import blocks_of, layer_kinds
from dse.inputs.strategies import AXIS
from dse.inputs.strategies.divisibility import InfeasibleStrategy
from dse.inputs.strategies.precisions import PRECISIONS
from dse.inputs.strategies.schedules import schedule_named
from dse.prediction.steps.checks import value_problem
from dse.prediction.steps.plan import Plan
from tests.references.prediction.groups import groups_of
from tests.references.prediction.tier_shares import legs_of


def check(model: ModelSpec, plan: Plan, cluster: Cluster) -> None:
    """Refuse a plan that cannot run on a cluster.

    Raises:
        InfeasibleStrategy: names the choice, what it is, and what is allowed.
    """
    if problem := value_problem(plan):
        raise InfeasibleStrategy(problem)
    if plan.micro_batch < 1:
        raise InfeasibleStrategy(f"micro_batch is {plan.micro_batch}; it must be at least 1")
    if plan.npus != cluster.npus:
        raise InfeasibleStrategy(
            f"tp {plan.tp} x cp {plan.cp} x dp {plan.dp} x pp {plan.pp} is {plan.npus} NPUs, but "
            f"{cluster.name} has {cluster.npus}"
        )
    _check_shards(model, plan)
    _check_experts(model, plan)
    _check_modules(model, plan)
    _check_options(model, plan, cluster)
    _check_stages(plan)
    _check_copies(model, plan)
    if problem := schedule_named(plan.schedule).problem(plan.pp, plan.chunks, micro_batches(model, plan)):
        raise InfeasibleStrategy(problem)
    if plan.order != AXIS["order"].default:  # which can be placed whenever degrees pass the checks above
        _check_order(plan)
    if cluster.algorithms != DEFAULT_ALGORITHMS:
        groups = groups_of(plan)
        names = [
            "tp",
            "dp_cp",
            "replicas",
            *(["expert_tp", "expert_dp"] if model.experts is not None else []),
        ]
        for name in names:
            legs_of(groups[name], cluster, cluster.algorithms.of(name))


def micro_batches(model: ModelSpec, plan: Plan) -> int:
    """Return the micro-batches that a data-parallel rank runs one after the other.

    Raises:
        InfeasibleStrategy: the batch does not go up.
    """
    each = plan.dp * plan.micro_batch
    if model.batch_size % each:
        raise InfeasibleStrategy(
            f"dp {plan.dp} x micro_batch {plan.micro_batch} is {each}; it must divide the batch of "
            f"{model.batch_size}"
        )
    return model.batch_size // each


def _divides(what: str, degree: int, of: str, size: int) -> None:
    if size % degree:
        raise InfeasibleStrategy(f"{what} is {degree}; it must divide {of}, {size}")


def _check_shards(model: ModelSpec, plan: Plan) -> None:
    _divides("tp", plan.tp, "the heads", model.num_heads)
    _divides("tp", plan.tp, "d_ff", model.d_ff)
    if model.state_space is not None:
        _divides("tp", plan.tp, "the groups of state-space heads", model.state_space.groups)
    heads = model.key_value_heads
    if model.latent_attention is None and heads % plan.tp and plan.tp % heads:
        raise InfeasibleStrategy(
            f"tp is {plan.tp}; it must divide the {heads} heads of keys, or be a multiple"
        )
    pieces = plan.cp * (
        2 if plan.context != "ulysses" and plan.cp > 1 else 1
    )  # causal halves are balanced in pairs
    _divides("cp" if pieces == plan.cp else "2 cp", pieces, "the sequence", model.seq_len)
    if plan.context == "ulysses":
        _divides("tp x cp", plan.tp * plan.cp, "the heads (context=ulysses)", model.num_heads)
    if plan.sequence_parallel:
        if plan.tp == 1:
            raise InfeasibleStrategy("sequence_parallel has no effect with tp 1; leave it out, or use cp")
        _divides("tp", plan.tp, "the sequence of a rank (sequence_parallel)", model.seq_len // plan.cp)


def _check_experts(model: ModelSpec, plan: Plan) -> None:
    if model.experts is None:
        if plan.ep > 1:
            raise InfeasibleStrategy(f"ep is {plan.ep}, but {model.name} has no experts; it must be 1")
        if plan.expert_tp:
            raise InfeasibleStrategy(
                f"expert_tp is {plan.expert_tp}, but {model.name} has no experts; leave it out"
            )
        return
    _divides("tp", plan.tp, "the width of the shared experts", model.experts.shared_width)
    _divides("ep", plan.ep, "the experts", model.experts.count)
    expert_tp = plan.expert_degree
    _divides("expert_tp", expert_tp, "the width of an expert", model.experts.d_ff)
    _divides("ep x expert_tp", plan.ep * expert_tp, "tp x cp x dp", plan.tp * plan.cp * plan.dp)
    _divides("expert_tp", expert_tp, "tp", plan.tp)


def _check_modules(model: ModelSpec, plan: Plan) -> None:
    """Refuse modules that the model lacks, and choices of an exchange of tokens where there is none."""
    if plan.ep == 1:
        for name, value in (("dispatcher", plan.dispatcher), ("overlap_ep", str(plan.overlap_ep).lower())):
            if value != AXIS[name].default and value != "false":
                raise InfeasibleStrategy(f"{name}={value} has no effect with ep 1; leave it out")
    has = {
        "mla_up_proj": model.latent_attention is not None,
        "mlp": any(blocks_of(model, kind).feed_forward == "feed_forward" for kind, _ in layer_kinds(model)),
        "shared_experts": model.experts is not None and model.experts.shared > 0,
        **dict.fromkeys(("moe", "moe_act", "moe_router", "moe_preprocess"), model.experts is not None),
    }
    for axis, value in (("recompute", plan.recompute), ("graphs", plan.graphs)):
        for module in value.split("+"):
            if not has.get(module, True):
                raise InfeasibleStrategy(
                    f"{axis} has {module}, which {model.name} does not have; leave it out"
                )


def _check_options(model: ModelSpec, plan: Plan, cluster: Cluster) -> None:
    peaks = cluster.accelerator.peak_tflops
    if PRECISIONS[plan.precision].format not in peaks:
        known = ", ".join(name for name, recipe in PRECISIONS.items() if recipe.format in peaks)
        raise InfeasibleStrategy(
            f"precision is {plan.precision}, which {cluster.accelerator.name} does not have; write {known}"
        )
    if plan.attention == "unfused" and (plan.cp > 1 or model.latent_attention is not None):
        raise InfeasibleStrategy(
            "attention=unfused goes without cp and without latent attention; write flash"
        )
    if plan.recompute_layers and plan.recompute == "none":
        raise InfeasibleStrategy(
            "recompute_layers has no effect with recompute=none; write full or selective"
        )
    if plan.weight_sharded and not plan.overlap_dp:
        raise InfeasibleStrategy(
            "overlap_dp=false has no effect with zero 3, which gathers weights a layer ahead; leave it out"
        )


def _check_copies(model: ModelSpec, plan: Plan) -> None:
    if not plan.shard_ranks:
        return
    if not plan.weight_sharded:
        raise InfeasibleStrategy(f"shard_ranks has no effect with zero {plan.zero}; it must be 3 (FSDP)")
    if plan.cp > 1 or model.experts is not None:
        raise InfeasibleStrategy("shard_ranks goes without cp and without experts; leave it out")
    _divides("shard_ranks", plan.shard_ranks, "dp", plan.dp)
    if plan.shard_ranks in (1, plan.dp):
        raise InfeasibleStrategy(
            f"shard_ranks is {plan.shard_ranks} of dp {plan.dp}: write zero 1 for whole copies, and leave it "
            "out for a single one"
        )


def _check_stages(plan: Plan) -> None:
    if plan.pp == 1 and plan.stages != "even":
        raise InfeasibleStrategy(f"stages={plan.stages} has no effect with pp 1; leave it out")


def _check_order(plan: Plan) -> None:
    try:
        groups_of(plan)
    except InputError as error:
        raise InfeasibleStrategy(str(error)) from None
