"""Planted disagreements and the documents that state them."""
