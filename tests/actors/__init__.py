"""The actors and their directory, over real stores."""
