"""Checks of configurations: legal or not, fits or not, how fast, and the changes that gain most."""
