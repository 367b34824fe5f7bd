"""The simulator has the last word: plans as workloads of every GPU, run by the engine and re-ranked."""

from __future__ import annotations

from dse.planner.questions.simulation.effects import MEANINGS
from dse.planner.questions.simulation.rerank import Reranking, rerank
from dse.planner.questions.simulation.simulate import PlanSimulation, PlanSimulator, simulate

__all__ = ["MEANINGS", "PlanSimulation", "PlanSimulator", "Reranking", "rerank", "simulate"]
