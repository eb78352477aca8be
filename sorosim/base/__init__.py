"""What all rooms stand on: errors, units, signals, declarations, options, compiled code."""
