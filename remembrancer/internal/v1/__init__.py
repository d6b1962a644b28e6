"""The internal API: stubs generated from the protos."""
