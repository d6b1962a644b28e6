"""The demo: a made-up conversation, and a story told with it."""
