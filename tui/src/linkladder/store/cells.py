"""Reads each cell as its column's type: SQLite stores anything anywhere, and a damaged row may say that it did."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence

Cell = Callable[[object], object]
Row = tuple[object, ...]
ROW_NUMBER = ("id", "INTEGER")


def row_factory(db: sqlite3.Connection, tables: tuple[str, ...]) -> Callable[[sqlite3.Cursor, Row], Row]:
    """What makes rows of the tables' columns, by their names; a column of another name is left as it is."""
    readers = {name: one for table in tables for name, one in of_table(db, table).items()}
    return lambda cursor, row: mended(readers, [column[0] for column in cursor.description], row)


def mended(readers: Mapping[str, Cell], names: Sequence[str], row: Row) -> Row:
    found = (readers.get(name) for name in names)
    return tuple(read(cell) if read else cell for read, cell in zip(found, row, strict=True))


def of_table(db: sqlite3.Connection, table: str) -> dict[str, Cell]:
    """How to read each column of a table; the number of a row is always one."""
    columns = db.execute(f"PRAGMA table_info({table})").fetchall()
    return {
        name: _reader(kind, nullable=not needed and not key)
        for _, name, kind, needed, _, key in columns
        if (name, kind) != ROW_NUMBER
    }


def _reader(kind: str, nullable: bool) -> Cell:
    typed = {"TEXT": _text, "BLOB": _bytes}.get(kind, _number)
    return (lambda cell: None if cell is None else typed(cell)) if nullable else typed


def text(stored: bytes) -> str:
    """A column's text; a spoilt byte in it costs that character, and not every run that is read with it."""
    return stored.decode("utf-8", "replace")


def _text(cell: object) -> str:
    if isinstance(cell, bytes):
        return text(cell)
    return "" if cell is None else str(cell)


def _bytes(cell: object) -> bytes:
    return cell if isinstance(cell, bytes) else _text(cell).encode()


def _number(cell: object) -> int | float:
    return cell if isinstance(cell, (int, float)) else 0
