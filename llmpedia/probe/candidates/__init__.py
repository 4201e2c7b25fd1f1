"""Which documents are compared on what: knowledge points, mentions, attributes, pairs."""
