"""Training plans for mixed clusters: problem, planners, costs, certificates, and their simulation."""
