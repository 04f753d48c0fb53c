"""What companies let be cleared without a human, and what people's decisions tell."""
