"""The Model Context Protocol: tools by which agents read, start runs and propose. None decides."""
