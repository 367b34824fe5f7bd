"""How sure a prediction is: intervals from measured runs of the same kind that no constant was fitted to."""
