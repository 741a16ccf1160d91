"""python -m ledger FILE ACCOUNT"""

import argparse
from pathlib import Path

from .book import Book


def main() -> None:
    parser = argparse.ArgumentParser(prog="ledger")
    parser.add_argument("file", type=Path)
    parser.add_argument("account")
    options = parser.parse_args()
    print(Book.read(options.file).balance(options.account))


if __name__ == "__main__":
    main()
