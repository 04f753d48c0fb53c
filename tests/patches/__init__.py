"""Changes that this service is made for, as patches that are tried on copies of the tree."""
