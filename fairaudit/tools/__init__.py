"""Tools on results and files: comparison, dry run, first spec, verification."""
