"""The console: what is happening, seen, steered and tried in a browser. Server-rendered; jinja2 is imported with it."""
