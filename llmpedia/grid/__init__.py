"""Several walks that differ in a few settings, from one file and by one command, each of them
audited if asked for.
"""
