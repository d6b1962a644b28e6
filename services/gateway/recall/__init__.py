"""Recall and RecallWithContext: from the request to the ledger and the answer."""
