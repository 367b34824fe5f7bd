"""Prediction of training steps on real hardware, with measured runs, accuracy and calibration."""
