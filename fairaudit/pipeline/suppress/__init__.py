"""Suppression of small counts in published reports (`suppress_below`)."""
