"""Runs against each other: models side by side, the retrieval trap."""
