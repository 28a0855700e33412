"""Tools: what works on results or files beside the audit."""
