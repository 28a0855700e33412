"""The Python interface: what `import fairaudit` offers (docs/python.md)."""
