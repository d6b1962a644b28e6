"""What calls of all families work with."""
