"""Robots as functional mock-up units: `export` writes one, `slave` is what runs in it, `variables` what others see."""
