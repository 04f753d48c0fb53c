"""The service's own moving parts on a virtual clock, with a scheduler, a store and far sides that
obey a seed.
"""
