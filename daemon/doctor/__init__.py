"""The doctor: looks at everything that the service rests on, changes nothing, and says what to do."""
