"""The command `dse plan`: a file per kind of action."""
