"""Memories apart from recalls: writing, correcting, listing, pausing, forgetting."""
