"""Where work runs: threads, the device of networks, and the nodes of a Ray cluster."""
