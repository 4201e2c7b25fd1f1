"""Settings of a probe: its judge, a build, a run over models."""
