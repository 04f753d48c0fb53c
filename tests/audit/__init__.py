"""The evidence: chain, tree, checkpoints, export, and that no tampering goes unseen."""
