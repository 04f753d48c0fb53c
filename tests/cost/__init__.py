"""What the service costs, beside the commit before."""
