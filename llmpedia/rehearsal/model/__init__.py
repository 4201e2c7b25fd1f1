"""The world's model: what it answers at each stage."""
