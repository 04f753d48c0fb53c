"""What is installed: distributions, the image, and the files that start it elsewhere."""
