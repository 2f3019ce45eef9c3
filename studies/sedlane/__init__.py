"""SEDLANE: what a replay of a trace keeps of the network that was traced."""
