"""What a site reads of a run: names and numbers in memory, rows from Parquet, audits, backlinks."""
