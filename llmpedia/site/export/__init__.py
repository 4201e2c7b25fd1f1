"""Releases: static site, dataset, JSON lines; private information masked."""
