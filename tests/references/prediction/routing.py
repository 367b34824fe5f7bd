"""How many parts of the experts a token reaches: NPUs, or units of NPUs, that have one of its experts."""

from __future__ import annotations

import math

from dse.inputs.models import MixtureOfExperts


def hit_share(experts: int, own: int, top_k: int) -> float:
    """Return the probability that some of `top_k` distinct experts are among `own` of them.

    >>> round(hit_share(256, 32, 8), 4)
    0.6618
    """
    if experts - own < top_k:
        return 1.0
    return 1 - math.prod((experts - own - i) / (experts - i) for i in range(top_k))


def mean_reached(experts: MixtureOfExperts, parts: float) -> float:
    """Return how many of `parts` equal parts of the experts have one of a token's, on average.

    Experts lie in order, so that a part has whole groups, or a group has whole parts. A token that may use
    `top_groups` of them reaches fewer parts (DeepSeek-V3, section 2.1.2).

    >>> round(mean_reached(MixtureOfExperts(256, 8, 2048), 8), 2)
    5.29
    >>> round(mean_reached(MixtureOfExperts(256, 8, 2048, groups=8, top_groups=4), 8), 2)
    3.63
    """
    count, top_k = experts.count, experts.top_k
    own = int(count / parts)
    groups, most = experts.groups or 1, experts.top_groups or 1
    size = count // groups
    if own < size:
        return parts * most / groups * hit_share(most * size, own, top_k)
    held = own // size
    share = sum(
        math.comb(held, used)
        * math.comb(groups - held, most - used)
        * hit_share(most * size, used * size, top_k)
        for used in range(max(0, most - groups + held), min(held, most) + 1)
    )
    return parts * share / math.comb(groups, most)
