"""A corpus as the probe reads it: documents out of files, their text, copies among them, and a
classifier of quality.
"""
