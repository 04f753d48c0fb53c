"""What every store promises, asked of each of them."""
