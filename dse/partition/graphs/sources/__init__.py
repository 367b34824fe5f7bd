"""Where graphs and devices come from: files, models of PyTorch, our workloads, systems, matrices."""
