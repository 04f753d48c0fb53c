"""The room of connectors: calls to the outside, the guard at its gate, and the secrets that they need."""
