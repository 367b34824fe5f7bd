"""Transformer shapes."""

from dse.inputs.models.blocks import LatentAttention as LatentAttention
from dse.inputs.models.blocks import LowRankAdapters as LowRankAdapters
from dse.inputs.models.blocks import MixtureOfExperts as MixtureOfExperts
from dse.inputs.models.fidelity import RELATIVE_ERROR as RELATIVE_ERROR
from dse.inputs.models.fidelity import REPAIRS as REPAIRS
from dse.inputs.models.fidelity import REPAIRS_OF as REPAIRS_OF
from dse.inputs.models.fidelity import Repairs as Repairs
from dse.inputs.models.fidelity import counted_by as counted_by
from dse.inputs.models.fidelity import counted_operations as counted_operations
from dse.inputs.models.mixers import AttentionWindows as AttentionWindows
from dse.inputs.models.mixers import SparseAttention as SparseAttention
from dse.inputs.models.mixers import StateSpace as StateSpace
from dse.inputs.models.spec import CHOICES as CHOICES
from dse.inputs.models.spec import MODEL_DIMENSIONS as MODEL_DIMENSIONS
from dse.inputs.models.spec import ModelSpec as ModelSpec
from dse.inputs.models.traces import refuse_untraceable as refuse_untraceable
