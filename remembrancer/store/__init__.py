"""The partition store in Redis or Valkey: records, vectors, feed, sessions, ledgers."""
