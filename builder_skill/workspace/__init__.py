"""Packages of the user's own: laid out, checked, changed and kept."""
