"""The run folder: files, journal, lease, wave commits, reading back, verification. See
docs/run-format.md.
"""
