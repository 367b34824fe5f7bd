"""Keys that questions have besides those of a plan."""

from __future__ import annotations

from dse.prediction.runs.asked import ELASTIC, RUN_KEYS

# Types have prices; phases are not known, nor what a subset does with fewer nodes.
_NOT_OF_PLANS = ("price", "power", "host_w", "pue", "grid", *ELASTIC)
RUN_OF_SUBSETS = {
    "objective": "the order of subsets: step (default), expected_time or cost of a training run",
    **{key: meaning for key, meaning in RUN_KEYS.items() if key not in _NOT_OF_PLANS},
}
COUNTS = {"counts": "nodes of a kind that are tried: doubling (default: 0, 1, 2, 4, … and all) or all"}
GROW = {
    "kind": "kinds of nodes to add, such as A100 or [A100,V100] (default: each)",
    "nodes": "how many more, such as 1 or [1,2,4] (default 1)",
}
FAIL = {
    "host": "which fails: its number in the cluster, from 0, or its address (default: one of each kind)",
    "slack": "share by which the plan that keeps most may be slower than the fastest (default 0.05)",
}
QUESTIONS = {
    "prices": COUNTS,
    "subsets": {**COUNTS, **RUN_OF_SUBSETS},
    "front": COUNTS,
    "grow": GROW,
    "fail": FAIL,
}
