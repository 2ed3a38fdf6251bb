"""One run at a time on an appliance, whoever asks; the lock dies with its holder."""

from __future__ import annotations

import fcntl
import os

from linkladder import state


class TrialLock:
    def __init__(self) -> None:
        self._file: int | None = None

    @property
    def held(self) -> bool:
        return self._file is not None

    def take(self, holder: str) -> str | None:
        """None when it is ours now (or was already), else the name of who holds it."""
        if self.held:
            return None
        path = state.ensure(state.folder() / "run") / "trial.lock"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            name = os.read(file, 200).decode("utf-8", "replace")
            os.close(file)
            return name or "somebody"
        os.ftruncate(file, 0)
        os.pwrite(file, holder.encode(), 0)
        self._file = file
        return None

    def release(self) -> None:
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None
