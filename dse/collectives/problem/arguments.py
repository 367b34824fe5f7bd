"""Keys of the commands about schedules, with their meanings, and BEAN TACOS's options that mean the same."""

NETWORK_KEYS = {
    "topology": "a CSV file, or a name such as torus__dim=[4,4]__alpha=500__beta=50",
    "npus": "nodes of a CSV file from here on are switches (default: none)",
    "switch_copies": "switches that copy a chunk onto several links: all (default), none, or nodes such as "
    "[16,17]; the others pass each message on",
    "switch_adds": "switches that add what comes over several links: all (default), none, or nodes",
    "max_sends": "links over which an NPU sends at once: a number for all, or {NPU:NUMBER,…} (default: all)",
    "max_receives": "and over which it receives at once, likewise",
    "system": "a system instead, such as torus_4x4 or mine.yaml; system.KEY=VALUE changes it",
    "dimensions": "of the system's network, such as [0] or [0,1] (default: all)",
    "switches": "unrolled: links between all ports of a switch (default); nodes: it stores and forwards",
}
PROBLEM_KEYS = {
    "collective": "all_gather (default), broadcast, scatter, gather, all_to_all, reduce, reduce_scatter, "
    "all_reduce, or a JSON file of pre- and postconditions, or of several collectives at once",
    "root": "of broadcast, scatter, gather, reduce (default 0); scatter_3 says it too",
    "group": "NPUs among which a collective is, such as [0,1,4,5]; the others relay",
    "demand": "of all_to_all: a CSV file of sizes in bytes, a row for each sender",
    "chunks_per_npu": "chunks that an NPU has at first; of broadcast and reduce: in all (default 1); "
    "auto cuts operation_bytes into as many as take least time",
    "chunk_bytes": "bytes of a chunk (default 1048576; of a demand an eighth of its largest size)",
    "operation_bytes": "instead: bytes of the operation as a training simulator means it; rounded up",
    "gb": "a GB/s is 1e9 (default) or gib = 2^30 bytes per second (default of a system)",
    "occupancy": "a link is held until arrival: total (default), or while bytes enter: bandwidth",
    "clock": "times are floored to ps (default) or ns",
    "forwarding": "switches (npus, or switches=nodes) send a chunk on when all of it is there: stored "
    "(default), or while it arrives: cut_through",
}
SEARCH_KEYS = {
    "synthesizer": "auto (default), fast or exact",
    "trials": "runs of a search at most (default 20)",
    "time_limit_s": "seconds after which the best so far is the answer; the making of the network and the "
    "bounds count too (default: none)",
    "seed": "of everything random (default 0)",
    "num_beams": "states that a beam keeps (synthesizer=beam)",
    "fitness": "of a beam: chunk_count or shortest_path (synthesizer=beam)",
    "temperature": "above 0 a beam draws its states by fitness (synthesizer=beam)",
}
ROBUST_KEYS = {
    "failed_links": "links that fail, such as 3-7,8-9 (both directions) or 3>7 (one); repaired",
    "failed_npus": "NPUs that fail, with all their links, such as 2,5",
    "failed_at_us": "when they fail; sends that have arrived by then are facts (default 0)",
    "repair": "fastest (default), or least_change: keep the most of the schedule, for up to 5 % more time",
    "variance": "how links vary, such as cv=0.1,straggler_share=0.01,straggler_slowdown=4: mean, percentiles "
    "and critical links over many draws; also draws (1000), correlation (none, node, dimension), jitter_cv, "
    "spike_share, spike_ns",
    "select": "of the fastest schedule and one per trial the one with the least: p95, mean, cvar95 … "
    "(with variance)",
}
OUTPUT_KEYS = {
    "export": "more files in DIR, such as [msccl,mscclpp,chakra,trace]; csv and page above 10^5 sends; with "
    "msccl, mscclpp or nccl and several sizes, operation_bytes=[64KiB,1MiB], a tuned library",
    "limits": "the runtime of export=msccl: msccl-executor (default, 64 steps a block), rccl or msccl",
    "instances": "copies of the program side by side, each on a part of all chunks (default 1; export=msccl)",
    "protocol": "Simple (default), or LL for small messages (export=msccl or mscclpp)",
    "npus_per_node": "NPUs of a node: others are reached by ports (default: all are in one; export=mscclpp)",
    "format": "table (default) or json: print the summary as JSON",
}
# Options of BEAN TACOS, and of former releases, that are not --KEY.
OLDER = {"--num_trials": "trials", "--failed-at": "failed_at_us"}
