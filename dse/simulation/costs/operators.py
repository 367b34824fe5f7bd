"""Operations, bytes and parameters of each operator of a model on one rank, as the engine generates them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from dse.base.records import alike
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.strategies.native import native_model, native_strategy
from dse.native import _engine

Block = Literal["input_embedding", "output_embedding", "attention", "feed_forward"]

_BLOCKS: dict[_engine.BlockKind, Block] = {
    _engine.BlockKind.INPUT_EMBEDDING: "input_embedding",
    _engine.BlockKind.OUTPUT_EMBEDDING: "output_embedding",
    _engine.BlockKind.ATTENTION: "attention",
    _engine.BlockKind.FEED_FORWARD: "feed_forward",
}


class OperatorCost(NamedTuple):
    """A computation of one block on one rank.

    `times` counts it in a step and `blocks` the blocks of its kind in the model. `operations` and `bytes`,
    read and written, are those of one time. An update has the bytes of its weight as `parameter_bytes`, all
    others have 0. Shards that are not whole have fractions.
    """

    block: Block
    blocks: int
    name: str
    is_update: bool
    times: int
    operations: float
    bytes: float
    parameter_bytes: float


def operators(model: ModelSpec, strategy: Strategy) -> list[OperatorCost]:
    """Return the operators that compute, block by block; the graph of the model is not built.

    Raises:
        InputError: no workload exists for the model and strategy.
    """
    costs = _engine.operator_costs(native_model(model, strategy), native_strategy(strategy))
    return [
        alike(
            OperatorCost,
            cost,
            block=_BLOCKS[cost.block],
            blocks=model.num_layers if _BLOCKS[cost.block] in ("attention", "feed_forward") else 1,
            is_update=cost.update,
        )
        for cost in costs
    ]
