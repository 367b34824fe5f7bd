"""Steps of real programs: recorded by PyTorch, replayed, and asked what would change them."""
