"""Text as people write it: scripts, numbers and dates, passages of long pages."""
