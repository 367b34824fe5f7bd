"""The keys of `dse plan` with their meanings, and the words that some of them allow."""

from dse.base.settings import Choices

CLUSTER_KEYS = {
    "cluster": "a file of conf/cluster such as a100_v100, or mine.yaml; cluster.KEY=VALUE changes it",
    "hostfile": "instead: lines 'ADDRESS slots=GPUS', as Metis has them; with clusterfile",
    "clusterfile": "JSON: type, memory (GiB) and bandwidths (GB/s) of every address",
    "type_order": "GPU types, each once, such as [A100,V100] (default: as hosts name them first)",
    "prices": "of a GPU and hour by type, such as [A100:2.0,V100:0.9] (default: those of cluster)",
}
COST_KEYS = {
    "model": "a file of conf/model such as llama3_8b; model.KEY=VALUE changes it",
    "profiles": "folders of measured layer profiles, such as DIR or [DIR,DIR]",
    "costs": "times are from: profiles, model (predicted) or calibrated (predictions scaled to profiles)",
    "first_profile": "compat: the file whose optimizer and batch generator times and weights count for all",
    "num_layers": "layers with embedding and head; profiles must have as many",
    "hidden_size": "of profiles (default 4096); of a model: model.d_model",
    "sequence_length": "of profiles (default 1024); of a model: model.seq_len",
    "vocabulary": "of profiles (default 51200); of a model: model.output_dim",
    "sequence_parallel": "of a model: tensor groups share out activations by sequence (default false)",
}
SEARCH_KEYS = {
    "gbs": "sequences of a step (default: those of the model, or 128)",
    "planner": "auto (default), fast or exact; as other planners do: metis or metis-strat",
    "cost": "step: predicted (default with model alone), strict: of layers, or compat: what Metis computes",
    "max_tp": "largest tensor degree (default 128)",
    "max_batch": "largest micro-batch of a replica (default 128)",
    "group_scale": "compat: factor on the least GPUs of a stage (default 1)",
    "permutation_limit": "of metis: units that a list of groups is merged to (default 128)",
    "allow_mixed_stages": "whether a stage may have GPUs of several types (default true)",
    "memory_reserve": "strict: share of each GPU's memory left free (default 0.1)",
    "shard_optimizer": "strict: optimizer states and updates are sharded over dp, ZeRO-1 (default false)",
    "uniform": "step: whether all stages have the same degrees, as Megatron runs them (default false)",
    "launchable": "step: a framework such as megatron-lm that can run the plan; means uniform=true",
    "time_limit": "seconds after which the best so far is the answer (default: none)",
    "gap": "of fast: the share by which the best plan may be above the bound at the end (default 0.001)",
}
OUTPUT_KEYS = {
    "top": "how many of the cheapest plans are listed (default 10)",
    "simulate": "how many of these the engine simulates and puts in the order of their steps (default 0)",
    "timeline": "draw a simulated step of the best plan into FILE.json or FILE.json.gz, for Perfetto",
    "format": "table (default), json, yaml or csv",
}
KEYS = {**CLUSTER_KEYS, **COST_KEYS, **SEARCH_KEYS, **OUTPUT_KEYS}
GROUPS = ("cluster", "model")
COSTS = ("profiles", "model", "calibrated")
COST_MODELS = Choices(
    "cost",
    "",
    {
        "compat": "dse.planner.problem.costs.compat:CompatRule",
        "strict": "dse.planner.problem.costs.strict:StrictRule",
        "step": "dse.planner.problem.costs.step:StepRule",
    },
    key="cost",
)
WALKS = ("metis", "metis-strat")
