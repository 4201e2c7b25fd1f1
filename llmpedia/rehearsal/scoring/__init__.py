"""Runs against the planted truth."""
