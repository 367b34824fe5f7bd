"""Kernels of a state-space mixer between its two products: convolution, scan by chunks, gated norm."""

from __future__ import annotations

from tests.references.prediction.kernels import Kernel, Pass
from tests.references.prediction.sharded_sizes import Local

_CHUNK = 128
"""Tokens that meet as in attention, before states take over: the default of Megatron-Core's mixer."""


def scan(local: Local, kernels: Pass) -> None:
    """Add the kernels of Mamba-2 (Dao and Gu 2024, https://arxiv.org/abs/2405.21060, section 6).

    Forward: states of chunks, their way from chunk to chunk, scores inside a chunk, and outputs of both. The
    backward pass runs the first three again and then the gradients of each. States and scores have 4 bytes.
    """
    mixer = local.model.state_space
    assert mixer is not None
    tokens, tp = local.tokens, local.plan.tp
    width, shared = mixer.width / tp, mixer.groups * mixer.state / tp  # what writes states, or reads them
    states = 4 * width * mixer.state / _CHUNK  # bytes a token
    scores, features = 4 * _CHUNK * mixer.groups / tp, 2 * width
    through_states, inside = (
        2.0 * width * mixer.state,
        1.0 * _CHUNK * width,
    )  # operations; half a chunk is seen

    def kernel(operations: float, bytes_: float) -> Kernel:
        return Kernel("attention", 1, tokens * operations, tokens * bytes_, part="attention")

    made = (
        kernel(through_states, features + 2 * shared + states),
        kernel(0.0, 2 * states),
        kernel(2 * _CHUNK * shared, 4 * shared + scores),
    )
    outputs = kernel(inside + through_states, 2 * features + 2 * shared + states + scores)
    gradients = (
        kernel(through_states, features + 2 * shared + states),  # of states
        kernel(0.0, 3 * states),  # of those passed on
        kernel(inside + through_states, 2 * features + 2 * shared + states + scores),  # of inputs
        kernel(through_states, features + 4 * shared + states),  # of what writes states
        kernel(through_states, features + 4 * shared + states),  # of what reads them
        kernel(inside, 2 * features + scores),  # of scores
        kernel(4 * _CHUNK * shared, 8 * shared + 2 * scores),  # and through these
    )
    convolved = 2 * tokens * (width + 2 * shared)
    kernels.memory(2 * convolved, 5 * convolved, 2)
    for one in made:
        kernels.add(one, one)
    kernels.add(outputs, *gradients)
    kernels.memory(3 * tokens * features, 5 * tokens * features)
