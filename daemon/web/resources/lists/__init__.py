"""Lists with filters: open gates, runs, the company's log, and saved views."""
