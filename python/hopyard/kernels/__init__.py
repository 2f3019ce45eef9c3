"""Linux kernels for simulated time: made once, kept in the user's cache."""
