"""Design points: what is evaluated, its key, and its evaluation to one row of results."""

from dse.studies.points.evaluate import evaluate as evaluate
from dse.studies.points.evaluate import failed_row as failed_row
from dse.studies.points.evaluate import point_of as point_of
from dse.studies.points.evaluate import record_point as record_point
from dse.studies.points.methods import PREDICTION as PREDICTION
from dse.studies.points.methods import SIMULATION as SIMULATION
from dse.studies.points.methods import Method as Method
from dse.studies.points.methods import method_of_options as method_of_options
from dse.studies.points.methods.prediction import prediction_of as prediction_of
from dse.studies.points.methods.simulation import doubts as doubts
from dse.studies.points.methods.simulation import run_point as run_point
from dse.studies.points.point import DesignPoint as DesignPoint
from dse.studies.points.point import Scenario as Scenario
from dse.studies.points.point import ScenarioInputs as ScenarioInputs
from dse.studies.points.point import scenario_of as scenario_of
from dse.studies.points.stored import point_of_row as point_of_row
from dse.studies.points.stored import strategy_of_row as strategy_of_row
from dse.studies.points.utilization import model_operations as model_operations
from dse.studies.points.utilization import model_utilization as model_utilization
from dse.studies.points.utilization import tokens_per_s as tokens_per_s
