"""Evidence: what makes every later change of history visible, and how it is checked."""
