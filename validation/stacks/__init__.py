"""Linux's TCP beside Hopyard's in the profile `linux`, over the same networks."""
