"""Judge and perplexity scorer behind HTTP, on Ray Serve: wrappers only, whatever is decided is
decided in ``llmpedia``.
"""
