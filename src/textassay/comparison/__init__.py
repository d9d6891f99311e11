"""Many metrics over many generators; explanation and planning."""
