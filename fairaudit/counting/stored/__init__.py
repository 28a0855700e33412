"""Files of counts and of quantile rounds."""
