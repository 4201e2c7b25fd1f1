"""What several analyses stand on: the compared runs with their audits, and a corpus as a whole."""
