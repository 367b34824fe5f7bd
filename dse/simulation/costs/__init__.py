"""The cost of a training step without simulation: operators from the engine, and bounds in closed form."""
