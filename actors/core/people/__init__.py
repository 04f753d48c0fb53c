"""Who may do what: roles, people of a company, delegations."""
