"""Studies: points are proposed, evaluated by executors, and stored for good."""
