"""The command `remembrancer reindex`: another encoder's vectors are filled in, then they serve."""
