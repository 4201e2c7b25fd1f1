"""A run's settings: YAML in, frozen typed objects out."""
