"""Coverage of the intervals of `hopyard.statistics`, by simulation with known truth."""
