"""Where texts are drawn from: endpoints and commands."""
