"""Inputs of a question as plain records: models, systems, networks, accelerators and strategies."""
