"""Planning problems: clusters, layer profiles, cost models and the keys that set them."""
