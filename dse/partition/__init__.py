"""Partitions of model graphs over devices: graphs, objectives, partitioners, bounds, running the result."""
