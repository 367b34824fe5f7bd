"""Simulation to the cycle: workloads make traces, simulators run them, costs bound them."""
