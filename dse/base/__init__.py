"""Ground of all wings: errors, signals, files, records, units, texts, programs, settings and expressions."""
