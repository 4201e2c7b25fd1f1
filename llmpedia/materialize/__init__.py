"""The walk: frontier -> wave -> commit (DESIGN section 4)."""
