"""Partitioned models of PyTorch as pipelines that train, one process a device; measured links and times."""
