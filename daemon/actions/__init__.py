"""Actions of agents: rules, budgets and pauses, and what a call becomes by them."""
