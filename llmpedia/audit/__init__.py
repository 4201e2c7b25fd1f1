"""Audit: claims of generated articles, evidence in two tiers, verdicts, metrics, human validation
(paper, section 4.2).
"""
