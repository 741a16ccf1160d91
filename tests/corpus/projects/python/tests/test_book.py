import multiprocessing
import os
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

from ledger import Book


def square(number):
    return number * number


class BookTest(unittest.TestCase):
    def test_balance(self):
        book = Book().add("cash", "10.50").add("bank", "1").add("cash", "-0.50")
        self.assertEqual(book.balance("cash"), Decimal("10.00"))

    def test_unknown_account_is_empty(self):
        self.assertEqual(Book().balance("x"), 0)

    def test_read_and_store(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "book.csv")
            path.write_text("cash,1\ncash,2\n")
            book = Book.read(path)
            book.store(Path(folder, "book.db"))
            self.assertTrue(Path(folder, "book.db").exists())
            self.assertEqual(book.balance("cash"), 3)

    def test_command_line(self):
        root = Path(__file__).parent.parent
        command = [sys.executable, "-m", "ledger", "data/book.csv", "cash"]
        output = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        self.assertEqual(output.stdout, "7.25\n")

    def test_pool_of_processes(self):
        with multiprocessing.Pool(2) as pool:
            self.assertEqual(pool.map(square, range(4)), [0, 1, 4, 9])

    def test_home(self):
        self.assertTrue(os.path.isdir(os.path.expanduser("~")))


if __name__ == "__main__":
    unittest.main()
