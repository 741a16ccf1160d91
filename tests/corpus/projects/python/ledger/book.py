"""A book of bookings."""

import csv
import sqlite3
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Iterator, List


@dataclass(frozen=True)
class Booking:
    """One line of a book."""

    account: str
    amount: Decimal


@dataclass
class Book:
    """Bookings in their order."""

    bookings: List[Booking] = field(default_factory=list)

    def add(self, account: str, amount: str) -> "Book":
        self.bookings.append(Booking(account, Decimal(amount)))
        return self

    def balance(self, account: str) -> Decimal:
        return sum((it.amount for it in self if it.account == account), Decimal(0))

    def __iter__(self) -> Iterator[Booking]:
        return iter(self.bookings)

    @classmethod
    def read(cls, path: Path) -> "Book":
        book = cls()
        with open(path, newline="") as file:
            for account, amount in csv.reader(file):
                book.add(account, amount)
        return book

    def store(self, path: Path) -> None:
        database = sqlite3.connect(path)
        with database:
            database.execute("create table if not exists booking (account text, amount text)")
            rows = [(it.account, str(it.amount)) for it in self]
            database.executemany("insert into booking values (?, ?)", rows)
        database.close()
