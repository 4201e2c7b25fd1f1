"""The planted truth: entities, names, facts, articles, sources."""
