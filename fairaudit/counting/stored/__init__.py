"""Files of counts."""
