"""V-Min: a third of the activations of 1F1B, a building block in the shape of a V (Qi et al. 2024).

Every stage holds at most as much as floor((p + 4) / 3) micro-batches. Passes of unequal times leave bubbles
in every period, not only in warm-up and drain.
"""

from dse.inputs.strategies.schedules.schedule import v_schedule

SCHEDULE = v_schedule("v-min", rise=1, delays=lambda stages: (1, 1 if stages % 3 else 3, 1))
