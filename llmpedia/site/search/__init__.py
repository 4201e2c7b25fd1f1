"""Search of titles and of full text."""
