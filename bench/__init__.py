"""Measures the service; part of the repository, not of the package."""
