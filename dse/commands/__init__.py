"""Commands of `dse`, a file per verb: parse, ask, print.

Each `main` takes the words behind its verb and returns the exit code. It raises `InputError` for what users
can put right: a wrong word, key or value, or a file that cannot be read or written.
"""
