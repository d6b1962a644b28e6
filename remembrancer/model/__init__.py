"""Plain domain rules: no gRPC, no Redis, no other I/O."""
