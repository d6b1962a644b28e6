"""The search behind every retrieval, and the access to encoder and tiers."""
