"""Builds a sentence encoder in ONNX from weights inside a pinned package, once, into a cache folder."""
