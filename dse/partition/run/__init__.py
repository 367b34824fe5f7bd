"""Partitioned models of PyTorch as pipelines that train, one process per device; measured links and times."""
