"""A synthetic world with planted truth, spoken through the interfaces of real models and real
sources.
"""
