"""What audits found: tables, by hop and tier."""
