"""The contract of every workload generator, and the promises of those that make the built-in step."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from dse.inputs.strategies import InfeasibleStrategy, Strategy
from dse.simulation.workloads import Workload, WorkloadGenerator, generate
from dse.testing.builders import TINY, finish, system

MODEL = replace(TINY, num_layers=2)
STRATEGIES = [
    Strategy(dp=4),
    Strategy(dp=2, tp=2, pp=2, activation_recompute=True),
    Strategy(dp=2, sp=2, weight_sharded=True),
]


def _figures(workload: Workload) -> list[object]:
    counts = [workload.counts(rank) for rank in range(workload.rank_count)]
    return [workload.communicator_group_count, workload.is_fractional, counts]


class _Generators:
    def make(self) -> WorkloadGenerator:
        raise NotImplementedError("make returns the generator")

    @pytest.fixture
    def generator(self) -> WorkloadGenerator:
        return self.make()


class WorkloadContract(_Generators):
    """Inherit it, and return the generator from `make`, or give a fixture `generator` of your own."""

    @pytest.mark.parametrize("strategy", STRATEGIES, ids=Strategy.label)
    def test_every_npu_has_a_trace_that_ends(self, generator: WorkloadGenerator, strategy: Strategy) -> None:
        workload = generator.generate(MODEL, strategy, "stage")
        assert workload.rank_count == strategy.npus
        assert not workload.is_fractional
        times = finish(workload, system(f"Switch {strategy.npus} @100/50"))
        assert len(times) == strategy.npus
        assert min(times) > 0

    def test_the_same_input_makes_the_same_workload_in_any_thread(self, generator: WorkloadGenerator) -> None:
        alone = [_figures(generator.generate(MODEL, strategy, "stage")) for strategy in STRATEGIES]
        with ThreadPoolExecutor(3) as pool:
            together = pool.map(
                lambda each: _figures(generator.generate(MODEL, each, "stage")), STRATEGIES * 2
            )
        assert list(together) == alone * 2

    def test_what_has_no_workload_is_infeasible(self, generator: WorkloadGenerator) -> None:
        with pytest.raises(InfeasibleStrategy):
            generator.generate(MODEL, Strategy(dp=0), "stage")

    def test_it_is_strict_if_told(self, generator: WorkloadGenerator) -> None:
        model = replace(MODEL, batch_size=33)
        with pytest.raises(InfeasibleStrategy, match="dp 4 does not divide"):
            generator.generate(model, Strategy(dp=4), "strict")
        assert generator.generate(model, Strategy(dp=4), "stage").is_fractional

    def test_another_process_has_the_same_generator(self, generator: WorkloadGenerator) -> None:
        there = pickle.loads(pickle.dumps(generator))
        assert dict(there.identity()) == dict(generator.identity())
        assert _figures(there.generate(MODEL, STRATEGIES[0], "stage")) == _figures(
            generator.generate(MODEL, STRATEGIES[0], "stage")
        )

    def test_its_identity_is_of_texts_and_names_it(self, generator: WorkloadGenerator) -> None:
        identity = generator.identity()
        assert identity["name"]
        assert all(isinstance(text, str) for pair in identity.items() for text in pair)


class ReferenceSteps(_Generators):
    """For generators that make the step that STAGE makes."""

    @pytest.mark.parametrize("strategy", STRATEGIES, ids=Strategy.label)
    def test_the_step_is_that_of_our_generator(
        self, generator: WorkloadGenerator, strategy: Strategy
    ) -> None:
        got, expected = generator.generate(MODEL, strategy, "stage"), generate(MODEL, strategy)
        assert got.rank_count == expected.rank_count
        assert _figures(got) == _figures(expected)

    def test_more_stages_than_blocks_are_infeasible(self, generator: WorkloadGenerator) -> None:
        with pytest.raises(InfeasibleStrategy):
            generator.generate(MODEL, Strategy(pp=5), "stage")

    def test_what_is_not_strict_says_why(self, generator: WorkloadGenerator) -> None:
        model = replace(MODEL, batch_size=33)
        with pytest.raises(InfeasibleStrategy, match=r"workload.divisibility=strict: dp 4 does not divide"):
            generator.generate(model, Strategy(dp=4), "strict")
