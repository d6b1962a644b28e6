"""Graph search: records and entities as nodes, and the paths between them."""
