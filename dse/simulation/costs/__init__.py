"""What a training step costs before it is simulated: operators from the engine, and bounds in closed form."""
