"""Servers that callers reach."""
