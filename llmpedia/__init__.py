"""Materialize what a language model knows as an encyclopedia, on Ray. See README.md for the tree
and the words.
"""

__version__ = "0.1.0"
