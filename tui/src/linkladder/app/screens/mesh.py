"""The Mesh screen: every path of a run from row to column, live during the run; explains the cell under the cursor."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from linkladder.app.page import Page
from linkladder.app.widgets.mesh_grid import MeshGrid, explained, grid_text, running
from linkladder.app.widgets.verdict import verdict
from linkladder.model import Document, RungResult
from linkladder.phrases import company as words
from linkladder.verdicts import Judgement, RungJudgement, Verdict

EVERY = 6  # ticks between two reads of the stored run while it is going on
LOOKED = 20  # how many of the newest runs are searched for one with several paths
NOTHING = """No run with several paths is here yet.

Name several on the Link page, or pair more appliances with this one; the plan
"mesh" then measures every pair alone, side by side and all at once, and the plan
"cards" each path to one appliance alone and all at once."""


class MeshScreen(Page):
    NAME = "Mesh"
    SHOWS_RUN = True
    HELP = """
Each end sends along its row, to the end that heads the column. A figure is the rate
of that path alone; v shows what is left of it with all others at work, what they
take, the round trip and the loss. Marks: + pass, ! fail, ^ impossible, ? cannot
judge, - incomplete, * measured now.

  arrows   another cell; left of the first column is the whole row
  v        another figure
  r        read anew
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "view", "Other figures"),
        Binding("r", "again", "Read anew"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]
    DEFAULT_CSS = """
    MeshScreen #said, MeshScreen #grid, MeshScreen #shown { padding: 0 1; height: auto; }
    MeshScreen #told { padding: 0 1; border-top: solid $secondary; height: 1fr; }
    """

    def __init__(self, run_id: str = "") -> None:
        super().__init__()
        self.run_id = run_id
        self.rung: RungResult | None = None
        self.judged: RungJudgement | None = None
        self.view = 0
        self._ticks = 0
        self._looked = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Without a run over several paths there are no figures."""
        return action != "view" or self.rung is not None

    def body(self) -> ComposeResult:
        yield Static("reading ...", id="said", markup=False)
        yield MeshGrid()
        yield Static("", id="shown", markup=False)
        with VerticalScroll(id="told", can_focus=False):
            yield Static("", id="words", markup=False)

    def on_mount(self) -> None:
        self.query_one(MeshGrid).focus()
        self.load()

    def on_tick(self) -> None:
        self._ticks += 1
        if self.ladder_app.measuring and self._ticks % EVERY == 0:
            self.load()

    @work(exclusive=True, group="mesh")
    async def load(self) -> None:
        app = self.ladder_app
        await app.loaded.wait()
        found = await app.ask_long(self._read, self._wanted())
        if found is not None:
            document, self.rung, self.judged = found
            self._looked = True
            self.refresh_bindings()
            self.set_title(f"linkladder   {self.NAME}   {document.run.id}" if document else f"linkladder   {self.NAME}")
            self._show()

    def _wanted(self) -> str:
        going = self.ladder_app.progress
        return self.run_id or (going.run_id if going and self.ladder_app.measuring else "")

    def _read(self, run_id: str) -> tuple[Document | None, RungResult | None, RungJudgement | None]:
        """The run with that id, or else the newest one with several paths, and its highest rung that has several."""
        backend = self.ladder_app.backend
        for wanted in [run_id] if run_id else [run.id for run in backend.runs()[:LOOKED]]:
            document = backend.load(wanted)
            for rung in reversed(document.rungs):
                if len(rung.paths) > 1:
                    judged = next((r for r in backend.judge(document).rungs if r.rung == rung.name), None)
                    return document, rung, judged
        return None, None, None

    def on_resize(self) -> None:
        self._show()

    def on_mesh_grid_moved(self) -> None:
        self._show()

    def _show(self) -> None:
        said, shown, explained_in = (self.query_one(name, Static) for name in ("#said", "#shown", "#words"))
        board = self.query_one(MeshGrid)
        seen = self.judged.company if self.judged else None
        if self.rung is None:
            said.update(NOTHING if self._looked else "reading ...")
            return
        grid = words.grid(seen.cells if seen else (), self.rung.paths)
        board.fit(len(grid.rows), len(grid.columns))
        now = self._now(self.rung)
        whole = seen.whole if seen and seen.cells else None
        said.update(
            Text.assemble("So far: " if now else "", self._verdict(whole, bool(now)), ": ", whole.text)
            if whole
            else "Nothing is measured yet."
        )
        view = words.VIEWS[self.view]
        board.update(grid_text(grid, view, board.cursor, now, self.size.width - 2))
        shown.update(Text(f"{view}   {words.LEGEND}", "dim", no_wrap=True, overflow="ellipsis"))
        explained_in.update("\n".join([*explained(seen, grid, board.cursor), *(seen.lacking if seen else ())]))

    def _verdict(self, whole: Judgement, goes_on: bool) -> Text:
        """What the paths come to, but no PASS where the rung has none, as more bears on that; trials may be to come."""
        to_come = goes_on and self.judged is not None and self.judged.verdict is Verdict.INCOMPLETE
        if whole.verdict is not Verdict.PASS or self.judged is None or to_come:
            return verdict(whole.word, whole.provisional)
        return verdict(self.judged.word, self.judged.provisional)

    def _now(self, rung: RungResult) -> frozenset[int]:
        """The numbers of the paths that are being measured now."""
        going = self.ladder_app.progress
        trial = going.trial if going and self.ladder_app.measuring and going.run_id == self._wanted() else None
        if trial is None or trial.rung is not rung.name:
            return frozenset()
        return running(trial.experiment.paths, len(rung.paths))

    def action_view(self) -> None:
        self.view = (self.view + 1) % len(words.VIEWS)
        self._show()

    def action_again(self) -> None:
        self.load()
