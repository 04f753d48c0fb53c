"""Tables and rules: one piece at a time, without IO."""
