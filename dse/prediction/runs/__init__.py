"""Training runs under failures: checkpoints, lost work, repairs and waiting, over predicted steps."""
