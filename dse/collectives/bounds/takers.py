"""When messages from part to part can have come, as few parts have something to send, and few links take it.

Let the NPUs be parted, and the root's part have all chunks. A part has something to send once a message has
come to it, and then brings messages to others over all of its links out. So of n arrivals in other parts, as
early as they can be, each lets one more part send, until all do: in this way D(t) arrivals by t are the most,
as arrivals that come sooner let parts send sooner.

Only the parts without the root have use for messages. In a time s on a link into their NPUs messages arrive
one after the other, s / held + 1 at most. So for any t the arrivals until T are no more than those before t,
fewer than D(t), and those that the links take from t to T. Of k chunks each comes to each other part.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence

_MOST_MOMENTS = 256


def time_with_takers(messages: Sequence[int], takers: Counter[int], parts: int, chunks: int) -> int:
    """When so many chunks of a root can have come to all other parts at the earliest; 0 if they never can.

    A part brings `messages` to others from when it has something; `takers` counts links by held times.
    """
    need = chunks * (parts - 1)
    arrivals = _arrivals(messages, parts, need)
    if not need or len(arrivals) < need:
        return 0
    latest = arrivals[-1]
    for before in range(0, need, -(-need // _MOST_MOMENTS)):
        latest = max(latest, _taken_by(takers, arrivals[before], need - before))
    return latest


def _arrivals(messages: Sequence[int], parts: int, need: int) -> list[int]:
    """When the first messages of all can come, if a part brings `messages` from when it got its first."""
    found: list[int] = []
    coming = [(messages[0], 0, 0)] if messages else []
    while coming and len(found) < need:
        now, number, since = heapq.heappop(coming)
        found.append(now)
        if len(found) < parts:
            heapq.heappush(coming, (now + messages[0], 0, now))
        if number + 1 < len(messages):
            heapq.heappush(coming, (since + messages[number + 1], number + 1, since))
    return found


def _taken_by(takers: Counter[int], since: int, need: int) -> int:
    """When links can have taken so many messages that arrive no sooner than at a time."""
    low, high = 0, max(takers, default=0) * need
    while low < high:
        middle = (low + high) // 2
        taken = sum(links * (middle // max(1, held) + 1) for held, links in takers.items())
        low, high = (low, middle) if taken >= need else (middle + 1, high)
    return since + low
