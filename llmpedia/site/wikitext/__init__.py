"""A model's Wikitext as safe HTML: source, inline text, blocks, tables, tree, page."""
