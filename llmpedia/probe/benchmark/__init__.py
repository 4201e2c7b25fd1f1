"""``llmpedia probe run`` and ``grade``: benchmarks as files, responses, grades."""
