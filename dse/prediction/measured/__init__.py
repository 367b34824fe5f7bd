"""Measured training steps: tables of them, predicted against measured, constants fitted to them."""
