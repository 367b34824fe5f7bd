"""Files that start a job: launchers, host files, pipeline schedules."""
