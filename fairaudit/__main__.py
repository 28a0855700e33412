"""`python -m fairaudit` is the command."""

from fairaudit.cli import main

if __name__ == "__main__":
    main()
