"""Review of verdicts and of a probe by a human reader: sheets and their pages."""
