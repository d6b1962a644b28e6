"""Another encoder model for the whole store: its vectors are filled in while the old one serves; then it serves."""
