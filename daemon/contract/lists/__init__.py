"""Lists that people search and filter: rows of gates and runs, counts, and saved views."""
