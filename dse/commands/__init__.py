"""Commands of `dse`, a file per verb: parse, ask, print."""
