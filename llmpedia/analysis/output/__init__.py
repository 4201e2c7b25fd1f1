"""How reports are written: tables, figures, one page, the folder they lie in."""
