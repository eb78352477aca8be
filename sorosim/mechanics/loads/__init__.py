"""External loads as plug-ins; base.py is the contract."""
