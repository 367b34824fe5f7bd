"""Files of plans: documents, records, tables and their readers."""
