"""Adds up bookings."""

from .book import Book, Booking

__all__ = ["Book", "Booking"]
__version__ = "0.4.0"
