"""Local copies of Wikipedia as evidence: no network, no rate limit, and the same pages for every
audit.
"""
