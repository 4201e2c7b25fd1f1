"""The walk: frontier -> wave -> commit (docs/design/overview.md, section 4)."""
