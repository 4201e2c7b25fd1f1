"""Tier 2 evidence: curated web pages found by a subject's name (paper, section 4.3 and appendix F)."""
