"""Between agents and their MCP servers: all passes through but the calls of tools."""
