"""Searches for plans: the planners and the space that they search."""
