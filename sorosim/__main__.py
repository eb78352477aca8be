"""``python -m sorosim`` is the command line."""

from sorosim.connect.cli import main

if __name__ == "__main__":
    main()
