"""Records of people and of what their companies ask of them."""
