"""Partition problems: devices, links, capacities, constraints and the keys that set them."""
