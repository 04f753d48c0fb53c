"""Between agents and the tools of their servers, by the official SDK on both sides."""
