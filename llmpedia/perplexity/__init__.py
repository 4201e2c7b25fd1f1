"""Conditional answer perplexity: what a model gives to each of several accounts of one fact (DESIGN
section 6).
"""
