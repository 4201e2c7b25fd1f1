"""Tier 1: the encyclopedia's own article on a subject, over the MediaWiki API and as plain text."""
