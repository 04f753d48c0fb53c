"""How fast the page's lists are beside many runs and open gates, measured in Chromium."""
