"""Files and command lines of frameworks, read into flat settings."""
