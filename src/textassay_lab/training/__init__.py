"""The training loop: epochs, checkpoints, resuming, precision, processes."""
