"""The ``llmpedia`` command: ``main`` reads the command line, a module a family of commands does the
rest.
"""
