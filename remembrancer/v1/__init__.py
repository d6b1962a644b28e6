"""The public API: stubs generated from the protos."""
