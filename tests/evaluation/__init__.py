"""Where what tenants wrote is evaluated: bounded, fairly shared, and beside all others."""
