"""How a job's waves run on Ray: the session, clients of engines, rows through workers, two waves at
a time.
"""
