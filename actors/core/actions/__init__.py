"""Calls that agents want to make: the rules that decide, and what stands of them."""
