"""Measurements of Linux kernels in simulated time: the same run many times, and what they cost."""
