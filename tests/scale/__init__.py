"""What the service must bear at full size."""
