"""What expressions and schemas cost, counted before they are compiled or evaluated."""
