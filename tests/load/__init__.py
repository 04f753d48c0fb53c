"""The load test: a separate process that fires concurrent resumes at a running service."""
