"""Inverse statics: the inputs under which a robot at rest comes where it shall."""
