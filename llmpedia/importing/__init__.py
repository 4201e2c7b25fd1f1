"""Another encyclopedia's texts as a run, so that it can be audited, compared and read like one of
ours.
"""
