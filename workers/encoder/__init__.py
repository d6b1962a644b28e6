"""The encoder worker: texts to vectors, index terms and entities."""
