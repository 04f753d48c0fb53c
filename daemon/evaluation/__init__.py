"""Where what tenants wrote is evaluated: at once where that is cheap, else in bounded processes."""
