"""The report of a probe: one question of the ElephantBench paper a module."""
