"""Plots of results and networks."""
