"""The checker of schedules, which shares no code with the searches."""
