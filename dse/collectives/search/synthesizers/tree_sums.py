"""All-reduces as programs: sums go up a tree of sends, full sums are copied; both may overlap."""

from __future__ import annotations

from dse.collectives.search.synthesizers.time_indexed import NEVER, Grid, Move, Timed


class _Distances:
    """Steps between all nodes, and what follows for sums."""

    def __init__(self, grid: Grid) -> None:
        nodes = range(grid.nodes)
        self.between = [grid.distances([node]) for node in nodes]
        self.from_all = [max(self.between[other][node] for other in nodes) for node in nodes]
        self.to_all = [max(self.between[node]) for node in nodes]
        self.there_and_back = [
            min(
                (self.between[node][other] + self.between[other][node] for other in nodes if other != node),
                default=NEVER,
            )
            for node in nodes
        ]


def timed_all_reduce(grid: Grid, chunks: int, steps: int) -> Timed | None:
    """Return the program of all all-reduces by trees of at most `steps` steps; None if there is none.

    Of each chunk every NPU but one, its root, sends its sum once, after all sums sent to it have arrived; any
    NPU may be the root. It has the full sum when all have arrived. There are no switches.
    """
    model, distances = Timed(grid, steps), _Distances(grid)
    starts_of, sources = {}, {}
    for chunk in range(chunks):
        sums = _Sums(model, distances, chunk)
        for node, columns in sums.add_roots().items():
            if columns:
                sources[node, chunk] = columns
        for link, (source, destination) in enumerate(grid.ends):
            first = max(
                distances.from_all[source], distances.there_and_back[destination] - grid.arrival[link]
            )
            starts_of[link, chunk] = grid.between(first, steps - grid.arrival[link])
    model.add_copies({key: starts for key, starts in starts_of.items() if starts}, sources)
    model.one_at_a_time()
    possible = [model.demand((node, chunk)) for chunk in range(chunks) for node in range(grid.nodes)]
    if not all(possible):
        return None
    model.in_order(0, list(range(chunks)))
    return model


class _Sums:
    """The sends of sums of one chunk: at most one per node and start, none after it has sent its own."""

    def __init__(self, model: Timed, distances: _Distances, chunk: int) -> None:
        self.model, self.distances, self.chunk = model, distances, chunk
        grid, steps = model.grid, model.steps
        self.into: list[list[tuple[int, int, int]]] = [[] for _ in range(grid.nodes)]  # arrival, link, column
        events: list[dict[int, list[int]]] = [{} for _ in range(grid.nodes)]
        for link, (source, destination) in enumerate(grid.ends):
            for start in grid.between(0, steps - grid.arrival[link] - distances.to_all[destination]):
                column = model.add_send(Move(link, chunk, start, reduces=True))
                events[source].setdefault(start, []).append(column)
                self.into[destination].append((start + grid.arrival[link], link, column))
        self.sent = [model.add_counter(steps_of) for steps_of in events]
        for node in range(grid.nodes):
            for arrival, _, column in self.into[node]:
                before = self.sent[node].by(arrival - 1)
                if before is not None:
                    model.program.row([(column, 1), (before, 1)], most=1)

    def add_roots(self) -> dict[int, dict[int, int]]:
        """Add variables for who is the root and when it has the full sum; return them by node and step."""
        model, nodes = self.model, range(self.model.grid.nodes)
        ends = [column for node in nodes if (column := self.sent[node].by(model.steps)) is not None]
        model.program.row(((column, 1) for column in ends), len(nodes) - 1, len(nodes) - 1)
        found: dict[int, dict[int, int]] = {}
        for node in nodes:
            last = model.steps - self.distances.to_all[node]
            steps = model.grid.between(self.distances.from_all[node], last)
            found[node] = {step: model.program.add() for step in steps}
            if found[node]:
                self._bound_root(node, found[node])
        return found

    def _bound_root(self, root: int, done: dict[int, int]) -> None:
        """A root never sends its sum; it is done when all others have sent, and all sums to it are there."""
        model = self.model
        is_done = model.add_counter({step: [column] for step, column in done.items()})
        never = self.sent[root].by(model.steps)
        if never is not None:
            model.program.row([(is_done.columns[-1], 1), (never, 1)], most=1)
        late: dict[int, list[tuple[int, int]]] = {}
        for arrival, link, column in self.into[root]:
            late.setdefault(link, []).append((arrival, column))
        for step, counter in zip(is_done.steps, is_done.columns, strict=True):
            for other in range(model.grid.nodes):
                if other != root:
                    since = step - self.distances.between[other][root]
                    model.follow(counter, self.sent[other].by(since))
            for arrivals in late.values():
                after = [(column, 1.0) for arrival, column in arrivals if arrival > step]
                if after:
                    model.program.row([(counter, 1.0), *after], most=1)
