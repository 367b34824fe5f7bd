"""Searches for partitions: partitioners and bounds."""
