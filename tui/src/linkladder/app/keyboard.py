"""Reads keys from the terminal: Esc takes effect at once, and noise on a serial line is ignored.

Textual's own driver checks only ten times a second whether an Esc stands alone, and ends the program if a byte is not
UTF-8.
"""

from __future__ import annotations

import os
import select
import time
from codecs import getincrementaldecoder

from textual._parser import Parser
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

POLL = 0.1  # seconds between two checks whether the application is being left


class KeyboardDriver(LinuxDriver):
    """Textual's driver with another loop to read input."""

    def run_input_thread(self) -> None:
        """Read until the application is left."""
        parser, decoder = XTermParser(self._debug), getincrementaldecoder("utf-8")("ignore")
        while not self.exit_event.is_set():
            if select.select([self.fileno], [], [], until_due(parser))[0]:
                if not (data := os.read(self.fileno, 4096)):
                    self.exit_event.wait(POLL)  # end of input; hangup.py handles it
                elif text := decoder.decode(data):
                    for message in parser.feed(text):
                        self.process_message(message)
            for message in parser.tick():
                self.process_message(message)


def until_due(parser: Parser[Message]) -> float:
    """Seconds until the parser must decide about an unfinished sequence of keys, at most POLL."""
    due = parser._timeout_time
    return POLL if due is None else min(POLL, max(0.0, due - time.monotonic()))
