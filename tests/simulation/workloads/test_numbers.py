"""The number rule of the workload specification (section 10), against exact arithmetic in plain Python."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import InfeasibleStrategy, Strategy
from dse.native import _engine
from dse.simulation.workloads import generate
from dse.testing.builders import Node, attribute

Exponents = dict[str, int]
MODEL_KEYS = ("input_dim", "output_dim", "d_model", "d_ff", "num_heads", "seq_len", "batch_size")

# Dimensions by token (section 2) as exponents of model sizes and degrees.
DIMENSIONS: dict[str, Exponents] = {
    "B": {"batch_size": 1, "dp": -1},
    "S": {"seq_len": 1, "sp": -1},
    "Q": {"seq_len": 1},
    "f": {"d_ff": 1, "tp": -1},
    "M": {"d_model": 1},
    "m": {"d_model": 1, "tp": -1},
    "d": {"d_model": 1, "num_heads": -1},
    "h": {"num_heads": 1, "tp": -1},
    "I": {"input_dim": 1},
    "i": {"input_dim": 1, "tp": -1},
    "o": {"output_dim": 1, "tp": -1},
    "U": {"input_dim": 1, "dp": -1, "sp": -1},
    "W": {"d_model": 1, "dp": -1, "sp": -1},
    "D": {"d_model": 1, "dp": -1},
    "e": {"d_model": 1, "num_heads": -1, "sp": -1},
}
# Operator: result, operand 1 and 2 as wanted (a reshape: its target), operations, factor (section 4).
OPERATORS: dict[str, tuple[str, str, str, str, int]] = {
    "in_emb_y": ("BSm", "BSI", "Im", "BSmI", 1),
    "in_emb_dw": ("Im", "BSm", "BSI", "ImBS", 1),
    "in_emb_dx": ("BSI", "BSm", "Im", "BSIm", 1),
    "out_emb_y": ("BSo", "BSM", "Mo", "BSoM", 1),
    "stack_0_mha_q": ("BSdh", "BSM", "Mdh", "BSdhM", 1),
    "stack_0_mha_qk": ("BQSh", "BQdh", "BSdh", "BQShd", 1),
    "stack_0_mha_qkv": ("BQdh", "BQSh", "BSdh", "BQdhS", 1),
    "stack_0_mha_qkv_reshape": ("BSm", "BSdh", "BSm", "BSm", 1),
    "stack_0_mha_norm": ("BSm", "BSm", "", "BSm", 5),
    "stack_1_mha_d_wq": ("Mdh", "BSdh", "BSM", "MdhBS", 1),
    "stack_1_mha_d_x1": ("BSM", "BSdh", "Mdh", "BSMdh", 1),
    "stack_1_ffn_x1": ("BSf", "BSM", "Mf", "BSfM", 1),
    "stack_1_ffn_x2": ("BSM", "BSf", "fM", "BSMf", 1),
    "stack_1_ffn_dw2": ("fM", "BSM", "BSf", "fMBS", 1),
    "stack_1_ffn_dres": ("BSm", "BSm", "", "BSm", 5),
}
UPDATES = {"in_emb_w": "Im", "out_emb_w": "Mo", "stack_0_mha_wq": "Mdh", "stack_0_ffn_w1": "Mf"}
SHARDED_UPDATES = {"in_emb_w": "Um", "out_emb_w": "Wo", "stack_0_mha_wq": "Deh", "stack_0_ffn_w1": "Wf"}


def _rounded(value: Fraction, bits: int) -> Fraction:
    """Round to `bits` significant bits, to nearest, ties to even."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - bits
    while value >= Fraction(2) ** (exponent + bits):
        exponent += 1
    while value < Fraction(2) ** (exponent + bits - 1):
        exponent -= 1
    return round(value / Fraction(2) ** exponent) * Fraction(2) ** exponent


def _cut(value: Fraction, bits: int) -> Fraction:
    """Cut to `bits` significant bits, towards zero."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - bits
    while value >= Fraction(2) ** (exponent + bits):
        exponent += 1
    while value < Fraction(2) ** (exponent + bits - 1):
        exponent -= 1
    return value / Fraction(2) ** exponent // 1 * Fraction(2) ** exponent


def _number(layout: str, values: dict[str, int], factor: int = 1) -> float:
    """The rule: x^-j cut to 62 + k bits, an exact product, rounded to 57 bits, then to a double."""
    exponents: Counter[str] = Counter()
    for token in layout:
        exponents.update(DIMENSIONS[token])
    left = {symbol: power for symbol, power in exponents.items() if power}
    width = 62 + len(left) + (factor != 1)
    product = Fraction(factor)
    for symbol, power in left.items():
        value = Fraction(values[symbol]) ** power
        product *= value if power > 0 else _cut(value, width)
    return float(_rounded(_rounded(product, 57), 53))


def _operators(nodes: list[Node]) -> dict[str, Node]:
    return {node["name"].removesuffix("_COMP"): node for node in nodes if node["name"].endswith("_COMP")}


def _first_of_each_operator(model: ModelSpec, strategy: Strategy) -> dict[str, Node]:
    work = generate(model, strategy)
    lanes = strategy.dp * strategy.tp * strategy.sp
    found: dict[str, Node] = {}
    for rank in range(0, work.rank_count, lanes):
        found.update(_operators(_engine.parse_trace(work.trace_bytes(rank), "trace").nodes()))
    return found


SIZES = {
    "input_dim": st.integers(1, 100_000),
    "output_dim": st.integers(1, 100_000),
    "d_model": st.integers(1, 100_000),
    "d_ff": st.integers(1, 200_000),
    "num_heads": st.integers(1, 4_500),
    "seq_len": st.integers(1, 8_200),
    "batch_size": st.integers(1, 4_100),
}
DEGREES = {"dp": st.integers(1, 9), "tp": st.integers(1, 9), "sp": st.integers(1, 9), "pp": st.integers(1, 2)}


def _check_all(
    sizes: dict[str, int], degrees: dict[str, int], sharded: bool
) -> Iterator[tuple[object, object]]:
    model = ModelSpec("random", **sizes, num_layers=2)
    found = _first_of_each_operator(model, Strategy(**degrees, weight_sharded=sharded))
    number = functools.partial(_number, values=sizes | degrees)
    for name, (result, first, second, operations, factor) in OPERATORS.items():
        node = found[f"{name}@0"]
        size = number(result) + number(first)
        size += number(second) if second else 0.0
        yield (name, attribute(node, "num_ops")), (name, int(number(operations, factor=factor)))
        yield (name, attribute(node, "tensor_size")), (name, int(size))
        yield (name, attribute(node, "outputs")[1]), (name, repr(number(result)))
    for name, stored in (SHARDED_UPDATES if sharded else UPDATES).items():
        node, one = found[f"{name}@1"], number(stored)
        yield (name, attribute(node, "num_ops")), (name, int(one))
        yield (name, attribute(node, "tensor_size")), (name, int(one + one + one))
        yield (name, attribute(node, "outputs")[1]), (name, repr(one))


@settings(max_examples=60, deadline=None)
@given(st.fixed_dictionaries(SIZES), st.fixed_dictionaries(DEGREES), st.booleans())
def test_sizes_operations_and_texts_are_those_of_the_rule(
    sizes: dict[str, int], degrees: dict[str, int], sharded: bool
) -> None:
    pairs = list(_check_all(sizes, degrees, sharded))
    assert [got for got, _ in pairs] == [expected for _, expected in pairs]


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize(
    ("shape", "degrees"),
    [
        ((1001, 777, 231, 1234567, 7, 1023, 131), (1, 3, 2, 2)),  # shape C of the conformance table
        ((50021, 51203, 12301, 49201, 4003, 65521, 1009), (3, 7, 5, 1)),  # shape D
        ((50021, 51203, 12301, 49201, 4003, 65521, 1009), (2, 1, 2, 2)),
    ],
)
def test_the_rule_holds_for_the_shapes_that_divide_badly(
    shape: tuple[int, ...], degrees: tuple[int, ...], sharded: bool
) -> None:
    sizes = dict(zip(MODEL_KEYS, shape, strict=True))
    named = dict(zip(DEGREES, degrees, strict=True))
    pairs = list(_check_all(sizes, named, sharded))
    assert [got for got, _ in pairs] == [expected for _, expected in pairs]


def test_the_rule_differs_from_one_plain_rounding_in_the_last_bit() -> None:
    # Guards the tests above: an engine that divides doubles must not pass them.
    layouts = ["BSm", "BSdh", "BQSh", "Deh", "Wf", "Um"]
    differ = 0
    for step in range(300):
        values = {"dp": 3, "tp": 7, "sp": 5, "d_ff": 49201, "num_heads": 4003, "input_dim": 50021}
        values |= {"batch_size": 1009 + step, "seq_len": 65521, "d_model": 12301}
        for layout in layouts:
            exact = Fraction(1)
            for token in layout:
                for symbol, power in DIMENSIONS[token].items():
                    exact *= Fraction(values[symbol]) ** power
            differ += _number(layout, values) != float(exact)
    assert 0 < differ < 300


def _model(**sizes: int) -> ModelSpec:
    return ModelSpec("ones", **{**dict.fromkeys(MODEL_KEYS, 1), **sizes}, num_layers=2)


@pytest.mark.parametrize(
    ("model", "strategy", "operator", "text"),
    [
        (_model(batch_size=80_000), Strategy(dp=3), "stack_0_mha_qkv_reshape@0", "26666.666666666668"),
        (_model(batch_size=128), Strategy(), "stack_0_mha_qkv_reshape@0", "128.0"),
        (_model(batch_size=17_500_000_000_000_000), Strategy(), "stack_0_mha_qkv_reshape@0", "1.75e+16"),
        (_model(batch_size=10**16 - 2), Strategy(), "stack_0_mha_qkv_reshape@0", "9999999999999998.0"),
        (_model(batch_size=10**16), Strategy(), "stack_0_mha_qkv_reshape@0", "1e+16"),
        (_model(), Strategy(tp=10_000), "stack_0_mha_qkv_reshape@0", "0.0001"),
        (_model(), Strategy(tp=20_000), "stack_0_mha_qkv_reshape@0", "5e-05"),
        (_model(), Strategy(dp=3), "in_emb_y@0", "0.3333333333333333"),
    ],
)
def test_size_texts_are_the_shortest_decimals(
    model: ModelSpec, strategy: Strategy, operator: str, text: str
) -> None:
    node = _first_of_each_operator(model, strategy)[operator]
    assert attribute(node, "outputs")[1] == text


def test_counts_are_cut_towards_zero_and_nodes_of_nothing_stay() -> None:
    found = _first_of_each_operator(_model(batch_size=2), Strategy(dp=3))
    assert attribute(found["in_emb_y@0"], "num_ops") == 0  # 2/3
    assert attribute(found["stack_0_mha_norm@0"], "num_ops") == 3  # 5 * 2/3
    assert attribute(found["in_emb_y@0"], "tensor_size") == 2  # 2/3 + 2/3 + 1


def test_a_count_beyond_63_bits_is_infeasible() -> None:
    # 5 operations an element: 5 * 1.8e18 fits into 63 bits, 5 * 1.9e18 does not
    assert generate(_model(batch_size=1_800_000_000_000_000_000), Strategy()).rank_count == 1
    with pytest.raises(InfeasibleStrategy, match=r"a count of 9\.5e\+18 exceeds 2\^63 - 1"):
        generate(_model(batch_size=1_900_000_000_000_000_000), Strategy())
