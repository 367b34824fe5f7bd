"""Calibration: few constants of accelerators and frameworks, fitted to measured steps."""
