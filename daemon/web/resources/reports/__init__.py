"""Reports: numbers over some days, and the rows that they count."""
