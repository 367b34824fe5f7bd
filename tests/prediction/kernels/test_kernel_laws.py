"""The laws of kernels: literal times, monotony, and bounds that no kernel beats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.inputs.accelerators.kernel_constants import (
    AttentionConstants,
    CastConstants,
    CollectiveConstants,
    ExchangeConstants,
    ExpertConstants,
    ProductConstants,
)
from dse.prediction.kernels.attention import attention_s
from dse.prediction.kernels.collectives import (
    OPERATIONS,
    collective_s,
    distinct_units,
    exchange_between_nodes_s,
    exchange_in_node_s,
)
from dse.prediction.kernels.experts import experts_s
from dse.prediction.kernels.machine import sustained_share, timed_alone_s
from dse.prediction.kernels.products import amax_s, cast_s, linear_s, product_s

H100 = {"peak_tflops": 989.4, "memory_gbps": 3350.0}
PRODUCT = ProductConstants(0.835, 0.776, 3.2)
CASTS = CastConstants(1.4, 1.2, 7.2, 0.53)
ATTENTION = AttentionConstants(0.645, 590.0, 0.43, 0.11, 0.87, 9.0)
RING = CollectiveConstants(4.8, 0.73, 0.936, 0.69)
EXPERTS = ExpertConstants(140.0, 8.0, 0.9, 38.0)
SIZES = st.integers(1, 2**17)


def test_a_large_product_takes_its_operations_at_the_share_of_peak() -> None:
    """2 * 8192^3 operations, 1 + 288 / 8192 of them wasted, at 0.835 of 989.4 TFLOPS, and 3.2 us."""
    seconds = product_s(8192, 8192, 8192, precision="bf16", constants=PRODUCT, **H100)
    assert seconds == pytest.approx(1380.88e-6, rel=1e-4)


def test_a_thin_product_takes_the_bytes_of_its_weights() -> None:
    seconds = product_s(
        1, 8192, 8192, precision="bf16", constants=ProductConstants(1.0, 0.5, 2.0, 0.0), **H100
    )
    assert seconds == pytest.approx((2 * 8192 * 8192 + 4 * 8192) / (3350e9 * 0.5) + 2e-6)


def test_casts_and_amax_are_added_to_products_in_8_bit() -> None:
    """A cast of 4096 x 8192 moves 3 bytes an element, the search for its largest value 2."""
    cast = cast_s(4096, 8192, precision="fp8", memory_gbps=3350.0, constants=CASTS)
    amax = amax_s(4096, 8192, memory_gbps=3350.0, constants=CASTS)
    assert cast == pytest.approx(1.4e-6 + 3 * 4096 * 8192 / (3350e9 * 1.2))
    assert amax == pytest.approx(7.2e-6 + 2 * 4096 * 8192 / (3350e9 * 0.53))
    alone = product_s(4096, 1024, 8192, precision="fp8", constants=PRODUCT, **H100)
    block = linear_s(4096, 1024, 8192, precision="fp8_block", constants=PRODUCT, casts=CASTS, **H100)
    whole = linear_s(4096, 1024, 8192, precision="fp8", constants=PRODUCT, casts=CASTS, **H100)
    assert whole == pytest.approx(alone + cast + amax)
    assert whole > block > alone


@given(m=SIZES, n=SIZES, k=SIZES)
def test_products_grow_with_every_side_and_are_never_below_the_roofline(m: int, n: int, k: int) -> None:
    def time(*sizes: int) -> float:
        return float(product_s(*sizes, precision="bf16", constants=PRODUCT, **H100))

    seconds = time(m, n, k)
    assert seconds >= max(2 * m * n * k / 989.4e12, 2 * (m * k + n * k + m * n) / 3350e9)
    assert all(time(*larger) >= seconds for larger in ((2 * m, n, k), (m, 2 * n, k), (m, n, 2 * k)))


def attention(s: int, d: int = 128, batch: int = 1, constants: AttentionConstants = ATTENTION) -> float:
    shape = (batch, s, 32, 8, d)
    return float(attention_s(*shape, precision="bf16", multiprocessors=132, constants=constants, **H100))


def test_attention_has_a_literal_time() -> None:
    """F = 2 * 8192^2 * 32 * 128, (1 + 590 / 8192) of it, and 0.11 of the last tiles of 132 processors."""
    operations = 2 * 8192**2 * 32 * 128 * (1 + 590 / 8192)
    tile = 0.11 * 4 * 128 * (8192 + 590) * 128 * 132
    assert attention(8192) == pytest.approx((operations + tile) / (0.645 * 989.4e12))
    assert attention(8192) == pytest.approx(936.5e-6, rel=1e-3)


def test_narrow_heads_cost_more_of_each_operation() -> None:
    """Half of the width has half of the operations, each (128 / 64)^0.43 as long."""
    assert attention(8192, 64) == pytest.approx(attention(8192) / 2 * 2**0.43)


@given(s=st.integers(64, 2**16), batch=st.integers(1, 64), d=st.sampled_from([64, 96, 128, 192, 256]))
def test_attention_grows_and_is_never_below_its_operations(s: int, batch: int, d: int) -> None:
    seconds = attention(s, d, batch)
    assert seconds >= 2 * batch * s**2 * 32 * d / 989.4e12
    assert attention(2 * s, d, batch) > seconds
    assert attention(s, d, 2 * batch) > seconds


def test_collectives_are_pipelines_at_their_best_chunk_size() -> None:
    """An all-reduce of 1 GB among 8 moves (14 + 0.69) / 8 GB at 0.936 of 450 GB/s, in 14 steps of 0.73 us."""
    moving, stepping = 1e9 / 8 * 14.69 / (450e9 * 0.936), 14 * 0.73e-6
    expected = 4.8e-6 + moving + stepping + 2 * (moving * stepping) ** 0.5
    seconds = collective_s("all_reduce", 1e9, 8, link_gbps=450.0, constants=RING)
    assert seconds == pytest.approx(expected)
    assert seconds == pytest.approx(4.7967e-3, rel=1e-3)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_collectives_grow_with_bytes_and_take_no_time_on_one_rank(operation: str) -> None:
    sizes = 2.0 ** np.arange(8, 32)
    seconds = collective_s(operation, sizes, 8, link_gbps=450.0, constants=RING)
    assert (np.diff(seconds) > 0).all()
    assert (seconds > sizes / 8 * 7 / 450e9).all()
    assert float(collective_s(operation, 1e6, 1, link_gbps=450.0, constants=RING)) == 0


def test_an_unknown_collective_is_refused() -> None:
    with pytest.raises(InputError, match="the collective is 'gather'; allowed are all_gather"):
        collective_s("gather", 1e6, 8, link_gbps=450.0, constants=RING)


def experts(rows: float, local: float, h: int = 4096, i: int = 1536) -> float:
    shape = (rows, local, h, i)
    return float(experts_s(*shape, gated=1, precision="bf16", share=0.835, constants=EXPERTS, **H100))


@settings(max_examples=200)
@given(rows=st.integers(64, 2**20), local=st.integers(1, 64), more=st.integers(2, 8))
def test_spreading_rows_over_more_experts_costs_no_more_than_reading_their_weights(
    rows: int, local: int, more: int
) -> None:
    """No launch is added, and what short products waste is hidden behind the weights."""
    few, many = experts(rows, local), experts(rows, local * more)
    weights = 2 * (more - 1) * local * 3 * 4096 * 1536 / (3350e9 * 0.9)
    assert few <= many <= few + weights + 1e-9


def test_experts_without_rows_are_not_read() -> None:
    assert experts(4, 4) == experts(4, 64)


def test_a_token_reaches_a_node_once_whatever_the_number_of_experts_there() -> None:
    """C(128, 8) / C(256, 8) of tokens miss one of two nodes: 1.9930 of 2 are reached."""
    assert float(distinct_units(2, 256, 8)) == pytest.approx(1.99301, rel=1e-4)
    assert float(distinct_units(8, 256, 8)) == pytest.approx(5.27, rel=5e-3)
    assert float(distinct_units(1, 256, 8)) == 1
    assert float(distinct_units(4, 4, 4)) == 4


def test_exchanges_move_distinct_copies() -> None:
    far = exchange_between_nodes_s(
        4096,
        7168,
        256,
        8,
        nodes=2,
        feature_bytes=1.03125,
        nic_gbps=50.0,
        constants=ExchangeConstants(60.0, 0.85),
    )
    assert far == pytest.approx(60e-6 + 4096 * 7168 * 1.03125 * 1.99301 / 2 / (50e9 * 0.85), rel=1e-4)
    near = exchange_in_node_s(
        4096,
        7168,
        256,
        8,
        ranks=8,
        feature_bytes=2.0,
        link_gbps=450.0,
        constants=ExchangeConstants(39.0, 0.97, 1.5),
    )
    copies = float(distinct_units(8, 256, 8)) + 1.5
    assert near == pytest.approx(39e-6 + 4096 * 7168 * 2 * copies / (450e9 * 0.97))


def test_sustained_shares_are_below_those_of_bursts_but_for_memory() -> None:
    assert sustained_share(0.835, "product", "bf16") == pytest.approx(0.726, abs=5e-4)
    assert sustained_share(0.645, "attention", "bf16") == pytest.approx(0.603, abs=5e-4)
    assert sustained_share(0.735, "product", "fp8") == pytest.approx(0.687, abs=5e-4)
    assert sustained_share(0.9, "memory", "bf16") == 0.9
    assert sustained_share(0.88, "product", "bf16", 1.0) == 0.88


def test_a_long_kernel_shows_the_slowdown_of_a_step_and_a_short_one_does_not() -> None:
    """Half of it at 2 ms: 2 ms of a type that slows down by 1.2 take 2.2 ms."""
    bursts = np.array([2e-6, 2e-3, 2.0])
    assert timed_alone_s(bursts, 1.2) / bursts == pytest.approx([1.0002, 1.1, 1.1998], rel=1e-4)
    assert (timed_alone_s(bursts, None) == bursts).all()
