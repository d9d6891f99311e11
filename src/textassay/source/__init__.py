"""Where texts are drawn from: endpoints, commands, and two generators with a known fault."""
