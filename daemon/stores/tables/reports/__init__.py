"""The tables of reports: how they follow the commits, and the questions that they answer."""
