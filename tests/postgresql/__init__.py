"""What is true of PostgreSQL alone: several daemons, leases, lost connections, and moving there."""
