"""What both tiers need: the pull loop, the vector index, the lexical index and the servicer around them."""
