"""Training steps on accelerators: plans, their pipelines, and what they are predicted to take."""
