"""Runs as an encyclopedia to read: a local web app and its static export."""
