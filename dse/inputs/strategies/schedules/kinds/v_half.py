"""V-Half: half the activations of 1F1B, a building block in the shape of a V (Qi et al. 2024).

Every stage holds as much as floor((p + 2) / 2) micro-batches.
"""

from dse.inputs.strategies.schedules.schedule import v_schedule

SCHEDULE = v_schedule("v-half", rise=2, delays=lambda stages: (2, 1 if stages % 2 else 4, 1))
