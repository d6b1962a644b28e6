"""The active tier: vector and lexical search."""
