"""What a run's tables say: the sanitization funnel."""
