"""The test-bed of TCP-WELCOME's paper, with kernels in simulated time."""
