"""The attack harness: a running service under slow connections, overload, bad requests, forged
tokens and log-ins.
"""
