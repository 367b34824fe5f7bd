"""The compiled engine: `_engine` simulates, `_solvers` searches, `_explorer` runs in a page."""
