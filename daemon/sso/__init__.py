"""Single sign-on: people whom an OpenID provider names, and the tokens that it signs."""
