"""Verification of exports, runs and stores."""
