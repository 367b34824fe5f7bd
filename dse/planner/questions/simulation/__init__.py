"""The simulator has the last word: plans as workloads of every GPU, run by the engine and re-ranked."""

from dse.planner.questions.simulation.effects import MEANINGS as MEANINGS
from dse.planner.questions.simulation.rerank import Reranking as Reranking
from dse.planner.questions.simulation.rerank import rerank as rerank
from dse.planner.questions.simulation.simulate import PlanSimulation as PlanSimulation
from dse.planner.questions.simulation.simulate import PlanSimulator as PlanSimulator
from dse.planner.questions.simulation.simulate import simulate as simulate
