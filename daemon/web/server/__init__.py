"""Sockets, connections and requests in flight."""
