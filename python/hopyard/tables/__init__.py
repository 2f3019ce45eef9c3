"""Tables of results, and the measures that are computed from them."""
