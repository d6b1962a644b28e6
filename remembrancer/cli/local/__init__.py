"""The whole service as real processes on one machine: where its files are, what to start, and what keeps it running."""
