"""``llmpedia probe build``: its steps in order, their state and workers, and the review by people."""
