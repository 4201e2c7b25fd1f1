"""Probing a model's memory with questions on which verified sources disagree (ElephantBench)."""
