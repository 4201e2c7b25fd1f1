"""Text for readers: normalization, sentences, differences, snippets, slugs."""
