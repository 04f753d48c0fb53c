"""Process templates: what can be run, and what companies write themselves."""
