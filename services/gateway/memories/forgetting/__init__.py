"""Forget, and what carries it out."""
