"""Framing and style of articles under different personas (paper, appendix M)."""
