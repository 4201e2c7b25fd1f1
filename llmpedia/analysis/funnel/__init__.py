"""The sanitization funnel: counts, tables, figures."""
