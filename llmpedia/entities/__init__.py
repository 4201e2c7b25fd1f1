"""Entities: canonical keys, loop forms, the committed index, arbitration."""
