"""trainrig: one job file in, a trained model out, nothing left behind."""

__version__ = "0.1.0"
