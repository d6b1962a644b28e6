"""Sessions from Activate to Commit, and the feedback in between."""
