"""Export and Import."""
