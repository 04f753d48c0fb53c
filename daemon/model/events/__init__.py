"""Events of a company's log that concern people and keys."""
