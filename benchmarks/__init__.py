"""What the project costs: CPU time and memory of points, sweeps and large systems. `python -m benchmarks`."""
