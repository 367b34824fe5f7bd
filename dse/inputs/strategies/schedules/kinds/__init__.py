"""The schedules: a module each, which calls its own `SCHEDULE`."""
