"""Time at full scale: crowds of timers, and verdicts that race with deadlines."""
