"""The simulator has the last word: plans as workloads of every GPU, run by the engine and re-ranked."""

from __future__ import annotations

from dse.planner.questions.simulation.effects import MEANINGS, Effect
from dse.planner.questions.simulation.rerank import WITHIN, Reranking, rerank
from dse.planner.questions.simulation.simulate import PlanSimulation, PlanSimulator, StageSimulation, simulate

__all__ = [
    "MEANINGS",
    "WITHIN",
    "Effect",
    "PlanSimulation",
    "PlanSimulator",
    "Reranking",
    "StageSimulation",
    "rerank",
    "simulate",
]
