"""Conditional answer perplexity: what a model gives to each of several accounts of one fact
(docs/design/overview.md, section 6).
"""
