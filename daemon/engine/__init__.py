"""The engine: actors, outgoing calls, timers, and changes by other daemons."""
