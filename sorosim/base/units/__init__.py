"""Units and quantities: texts such as ``3 cm`` to numbers in SI."""
