"""Runs of the peer simulators, ns-2.35 and ns-3.37, on the scenarios of the comparison."""
