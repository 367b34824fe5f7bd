"""Classes of work by the names of operators and kernels, of PyTorch and of the libraries below it."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np
from dse.simulation.recorded.step import NodeKind, RecordedStep

# The first rule that a name meets decides, so narrower classes come first.
_RULES = (
    ("optimizer", r"optimizer|adam|\bsgd|lamb|adagrad|rmsprop|_foreach_|multi_tensor|clip_grad"),
    ("attention", r"attention|attn|flash|fmha|sdpa|paged_kv"),
    ("convolution", r"conv(?!ert)|wgrad|dgrad|fprop|winograd|im2col"),
    (
        "matmul",
        r"gemm|gemv|matmul|cutlass|cublas|\bcijk_|\bw?gmma|xmma|nvjet|einsum|linear|addmv|"
        r"(?:^|::|_|\b|add|spars)b?(?:add)?b?mm(?:backward|_|\b)|::dot\b",
    ),
    ("normalisation", r"norm|softmax|welford|var_mean"),
    (
        "copy",
        r"copy|memcpy|memset|clone|contiguous|::cat\b|catarray|fill|zero|::empty|::to\b|stack|split|narrow|"
        r"accumulategrad|chunk",
    ),
    (
        "elementwise",
        r"elementwise|add|sub|mul|div|gelu|relu|silu|swish|sigmoid|tanh|exp|log|pow|sqrt|dropout|bernoulli|"
        r"where|mask|reduce|sum|mean|max|min|abs|neg|clamp|loss|triton_(?:poi|red|per)",
    ),
)
LAUNCH, OTHER, COMMUNICATION = "launch", "other", "communication"
CLASSES = (*[name for name, _ in _RULES], OTHER, LAUNCH)
"""Classes of work: by rule, `other` without one, and `launch`: work of the host where devices compute."""

_PATTERNS = tuple([(name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _RULES])
_PREFIX = "autograd::engine::evaluate_function: "


@dataclass(frozen=True)
class Speeds:
    """How many times faster the work of each class becomes; 1 leaves it as it was recorded.

    Where a rank has streams of a device, its kernels have the class of their name, and all work of the host
    is `launch`. Where it has none, operators of the host have the class of their name.

    Raises:
        InputError: a speed that is no number above 0.
    """

    matmul: float = 1.0
    attention: float = 1.0
    convolution: float = 1.0
    normalisation: float = 1.0
    elementwise: float = 1.0
    optimizer: float = 1.0
    copy: float = 1.0
    other: float = 1.0
    launch: float = 1.0

    def __post_init__(self) -> None:
        """Check every speed."""
        for each in fields(self):
            above_zero(f"speeds.{each.name}", getattr(self, each.name))


def above_zero(name: str, value: float) -> None:
    """Refuse what is no number above 0.

    Raises:
        InputError: names the field and its value.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise InputError(f"{name} is {value!r}; it must be a number greater than 0")


def class_of_name(name: str) -> str:
    """Return the class of an operator or a kernel by the first rule that its name meets."""
    plain = name.removeprefix(_PREFIX)
    return next((known for known, pattern in _PATTERNS if pattern.search(plain)), OTHER)


def classes_of(step: RecordedStep, nodes: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.int64]:
    """Return the class of each node as a position in `CLASSES`; one more for communication."""
    by_name = np.array([CLASSES.index(class_of_name(name)) for name in step.names], dtype=np.int64)
    devices = {lane.rank for lane in step.lanes if lane.is_device}
    launches = np.array([lane.rank in devices for lane in step.lanes], dtype=np.bool_)
    kind = step.kind[nodes]
    classes = by_name[step.name[nodes]]
    classes[(kind == NodeKind.HOST) & launches[step.lane[nodes]]] = CLASSES.index(LAUNCH)
    classes[kind >= NodeKind.COLLECTIVE] = len(CLASSES)
    return classes


def class_name(number: int) -> str:
    """Return the name of a number of `classes_of`."""
    return CLASSES[number] if number < len(CLASSES) else COMMUNICATION
