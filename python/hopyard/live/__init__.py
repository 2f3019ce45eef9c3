"""Networks in real time, for programs outside the simulator."""
