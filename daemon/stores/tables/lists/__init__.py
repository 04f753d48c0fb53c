"""What searches and filtered lists read."""
