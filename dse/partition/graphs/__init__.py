"""Graphs to partition: their sources and the steps that simplify them."""
