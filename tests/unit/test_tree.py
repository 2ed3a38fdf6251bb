"""The shape of the tree itself: modules that can be read in one sitting, and parts that do not go round in circles."""

from __future__ import annotations

import ast
import graphlib
import re
from pathlib import Path

import linkladder
from linkladder.tools import TOOLS

TOP = Path(linkladder.__file__).parent
MODULES = sorted(TOP.rglob("*.py"))
TESTS = Path(__file__).parents[1]
LONGEST = 400  # lines


def test_no_module_is_too_long_to_be_read_in_one_sitting() -> None:
    all_of_them = [*MODULES, *TESTS.rglob("*.py")]
    long = {str(m): n for m in all_of_them if (n := len(m.read_text().splitlines())) > LONGEST}
    assert not long, f"more than {LONGEST} lines: take out what has a name of its own"


def part(name: str) -> str:
    """Which package or module of linkladder's first level a dotted name belongs to; '' for others' modules."""
    words = name.split(".")
    return words[1] if words[0] == "linkladder" and len(words) > 1 else ""


def imported(module: Path) -> set[str]:
    """The parts that a module imports, wherever in it, and for its types alone too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found |= {part(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "linkladder":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(part(node.module or ""))
    return {name for name in found if (TOP / name).is_dir() or (TOP / f"{name}.py").exists()} - {""}


def test_no_circle_among_the_parts() -> None:
    graph: dict[str, set[str]] = {}
    for module in MODULES:
        own = module.relative_to(TOP).parts[0].removesuffix(".py")
        graph.setdefault(own, set()).update(imported(module) - {own})
    assert {"model", "engine", "app", "store"} <= set(graph) and "model" in graph["engine"], "it sees imports"
    tuple(graphlib.TopologicalSorter(graph).static_order())  # CycleError names the circle


def test_no_two_parts_share_a_name() -> None:
    """wire.py beside wire/ would mean two things by one word."""
    both = {m.stem for m in TOP.glob("*.py")} & {m.name for m in TOP.iterdir() if m.is_dir()}
    assert not both


SENTENCES = {"sentence", "reason", "reasons", "findings", "remedies"}  # attributes that are for people
READING = {"startswith", "endswith", "removeprefix", "removesuffix", "split", "partition", "rpartition", "find",
           "index", "replace", "match", "search", "fullmatch"}  # fmt: skip
SET_ON_A_PAGE = {  # what stands on a page already is not printed there twice
    ("app/screens/results.py", "f not in judged.sentence"),
    ("app/screens/results.py", "said.replace(judged.limiter.sentence, '')"),
    ("app/screens/home.py", "str(error) != self._said"),
}
ENUMS = {("pairing/endings.py", "error.reason is Reason.REFUSED")}  # a reason that is a code
OTHERS = {  # what others say by their words alone: tomllib; asyncio, of several addresses; sshd; /proc/cpuinfo
    ("plan/read.py", "re.search('at line (\\\\d+)', str(error))"),
    ("pairing/connection.py", "'refused' in text"),
    ("pairing/connection.py", "'unreachable' in text"),
    ("pairing/connection.py", "'No route' in text"),
    ("trust/sshd.py", "'bad configuration' in line"),
    ("host/linux_text.py", "re.search('^(?:model name|Model|cpu model)\\\\s*:\\\\s*(.+)$', cpuinfo, re.MULTILINE)"),
}


def for_people(node: ast.AST) -> bool:
    """An attribute that holds a sentence, the words of an error, or several words written out."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.search("[A-Za-z]{2,} [A-Za-z]{2,}", node.value) is not None
    return words_of_an_error(node) or (isinstance(node, ast.Attribute) and node.attr in SENTENCES)


def words_of_an_error(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node) in ("str(error)", "str(problem)", "str(refusal)")


def kept_for_later(tree: ast.Module) -> set[str]:
    """Names of variables that are given the words of an error."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = (
                zip(target.elts, value.elts, strict=False)
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                else [(target, value)]
            )
            found |= {t.id for t, v in pairs if isinstance(t, ast.Name) and words_of_an_error(v)}
    return found


def test_no_logic_reads_a_sentence() -> None:
    """What was said to people is neither compared nor taken apart: codes, causes and figures say it to programs."""
    found = set()
    for module in MODULES:
        place = module.relative_to(TOP)
        if place.parts[0] in ("phrases", "tools"):  # who words; who reads what programs print
            continue
        tree = ast.parse(module.read_text())
        kept = kept_for_later(tree)

        def spoken(node: ast.AST, kept: set[str] = kept) -> bool:
            return for_people(node) or (isinstance(node, ast.Name) and node.id in kept)

        for node in ast.walk(tree):
            compared = isinstance(node, ast.Compare) and any(map(spoken, (node.left, *node.comparators)))
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READING
            if compared or (called and any(map(spoken, (node.func.value, *node.args)))):  # type: ignore[attr-defined]
                found.add((str(place), ast.unparse(node)))
    assert found <= SET_ON_A_PAGE | ENUMS | OTHERS, found - SET_ON_A_PAGE - ENUMS - OTHERS


def test_only_a_tool_s_room_writes_its_command_line() -> None:
    """A list of words that begins with a tool's name and an option is a command line."""
    written = {
        f"{module.relative_to(TOP)}:{node.lineno}"
        for module in MODULES
        if module.relative_to(TOP).parts[0] != "tools"
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.List | ast.Tuple | ast.Call)
        for words in [node.args if isinstance(node, ast.Call) else node.elts]
        if len(words) > 1 and [getattr(w, "value", None) in TOOLS for w in words[:1]] == [True]
        if str(getattr(words[1], "value", "")).startswith("-")
    }
    assert not written


FOR_DEVELOPERS = {("pairs.py", "{} figures of A and {} of B make no pairs")}  # of a call that is wrong


def texts(tree: ast.Module) -> set[str]:
    """All strings of a module but its docstrings; f-strings with {} where a value goes."""
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.add("".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (inner | said):
            found.add(node.value)
    return found


def test_the_judge_makes_no_sentence() -> None:
    """It decides and hands over figures; phrases/ words them.  Keys and codes have no space between letters."""
    made = {
        (module.name, text)
        for module in sorted((TOP / "judge").glob("*.py"))
        for text in texts(ast.parse(module.read_text()))
        if " " in text and any(c.isalpha() for c in text.replace("{}", ""))
    }
    assert made == FOR_DEVELOPERS, "words belong into phrases/"


SAME_THING = {  # of one thing different parts of the house: its rules and its words, its record and its screen
    "accounts", "appliance", "arranged", "as_sold", "besides_the_rate", "bundle_tables", "bundles", "ceilings",
    "changes", "circumstances", "company", "comparison", "compression", "cost_tables",
    "contradictions", "disks", "documents", "experiments", "few_streams", "firewall", "followups", "history",
    "judgements", "limiters", "link", "loss_signs", "matrix", "member_down", "neighbours", "outages", "permitted_loss",
    "remedies", "results", "rungs", "sizing", "stairs", "transactions", "udp", "upgrading",
}  # fmt: skip
A_TOOL_S = {"argv", "lines", "live", "output", "result", "saved"}  # in every room
RIDDLES = {  # words that say nothing of what is done, or of what is held
    "aside", "described", "doubts", "frugal", "growing", "heed", "mourn", "standing", "sturdy", "told", "wishes",
}  # fmt: skip


def test_a_module_s_name_means_one_thing() -> None:
    """Each tool's room has the same few modules; other names that are there twice are of one thing, or listed."""
    names = [m.stem for m in MODULES if not m.stem.startswith("__")]
    twice = {name for name in names if names.count(name) > 1}
    unlisted = twice - SAME_THING - A_TOOL_S
    assert not unlisted


def test_no_name_is_a_riddle() -> None:
    """Neither of a module, a function, an argument, nor a variable; "set aside" is what is done with a damaged file."""
    named = {m.stem: {m.stem} for m in MODULES}
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text())):
            name = getattr(node, "name", None) or getattr(node, "arg", None) or getattr(node, "id", None)
            named[module.stem] |= {name} if isinstance(name, str) else set()
    found = {(m, name) for m, names in named.items() for name in names if RIDDLES & set(name.lower().split("_"))}
    assert {name for _, name in found} <= {"set_aside"}, found


def test_the_changelog_says_what_a_user_notices_in_twenty_lines() -> None:
    lines = [line for line in (TESTS.parent / "CHANGELOG.md").read_text().splitlines() if line and line[0] != "#"]
    assert len(lines) <= 20, "say it in a line that is there"


# What somebody else calls: Textual, enum and the HTTP server by these names, and the lab.
HOOKS = {
    "_missing_",
    "check_action",
    "get_driver_class",
    "get_system_commands",
    "https_open",
    "log_message",
    "render_line",
    "render_segments",
    "run_input_thread",
}
LAB = {"ensure_config"}
BY_NAME = ("__", "action_", "on_", "_on_", "do_", "watch_", "compose")  # how a name begins that is put together


def of_modules(tree: ast.Module) -> set[str]:
    """What a module takes from modules that it has imported, as in `tools.named`, or imports then and there."""
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    modules = {alias.asname or alias.name.partition(".")[0] for n in imports for alias in n.names}
    attributes = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    return {
        n.attr
        for n in attributes
        if ast.unparse(n.value).startswith("import_module(") or ast.unparse(n.value) in modules
    }


def test_nothing_is_without_a_caller() -> None:
    """A function or class of the package that nothing of the package names, in code, in a table or in a page."""
    trees = [ast.parse(m.read_text()) for m in MODULES]
    for tree in trees:  # to offer is not to use
        tree.body = [n for n in tree.body if not (isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__")]
    called = {n.id for t in trees for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    called |= {n.value for t in trees for n in ast.walk(t) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    called |= set().union(*map(of_modules, trees))  # an attribute of the same name of something else is no call
    named = called | {n.attr for t in trees for n in ast.walk(t) if isinstance(n, ast.Attribute)}
    pages = " ".join(page.read_text() for page in TOP.rglob("*.j2"))
    kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
    idle = {
        n.name
        for t in trees
        for n in ast.walk(t)
        if isinstance(n, kinds) and not n.name.startswith(BY_NAME) and n.name not in (called if n in t.body else named)
        if not any(isinstance(d, ast.Call) and getattr(d.func, "id", "") == "on" for d in n.decorator_list)
    }
    assert {name for name in idle - HOOKS - LAB if not re.search(rf"\b{name}\b", pages)} == set()


def test_every_picture_of_a_screen_has_its_test() -> None:
    """The pictures' plugin is only asked to warn: it takes those of another lane's tests for left over."""
    pictures = sorted((TESTS / "tui/__snapshots__").glob("*/*.svg"))
    assert pictures
    for one in pictures:
        source = (TESTS / f"tui/{one.parent.name}.py").read_text()
        assert f"def {one.stem.partition('[')[0]}(" in source, f"{one.name}: no test draws it"
