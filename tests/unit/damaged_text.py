"""What happens to a tool's output on its way: lines lost, doubled, moved, cut; characters changed; files joined."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st


@st.composite
def damage(
    draw: st.DrawFn,
    text: str,
    kinds: Sequence[str],
    other: str = "",
    characters: str = "0123456789",
    foreign: st.SearchStrategy[str] | None = None,
) -> str:
    """One of these kinds; `other` is what may be joined to it, and `characters` what a digit may become."""
    lines = text.splitlines(keepends=True)
    spots = st.integers(0, max(0, len(lines) - 1))
    kind = draw(st.sampled_from(kinds))
    if kind == "cut":
        return text[: draw(st.integers(0, len(text)))]
    if kind == "head":
        return text[draw(st.integers(0, len(text))) :]
    if kind == "join":
        return text + other if draw(st.booleans()) else other + text
    if not lines:
        return text
    a, b = draw(spots), draw(spots)
    if kind == "drop":
        del lines[min(a, b) : max(a, b) + 1]
    elif kind == "repeat":
        lines.insert(b, lines[a])
    elif kind == "swap":
        lines[a], lines[b] = lines[b], lines[a]
    elif kind == "move":  # some lines, anywhere or to either end
        block = lines[min(a, b) : max(a, b) + 1]
        del lines[min(a, b) : max(a, b) + 1]
        to = draw(st.sampled_from((0, len(lines), draw(st.integers(0, len(lines))))))
        lines[to:to] = [line if line.endswith("\n") else f"{line}\n" for line in block]
    elif kind == "reverse":
        lines.reverse()
    elif kind == "merge":
        lines[a] = lines[a][: draw(st.integers(0, len(lines[a])))] + lines[b]
    elif kind == "foreign" and foreign is not None:
        lines.insert(a, draw(foreign) + "\n")
    elif kind == "digit":
        if places := [i for i, c in enumerate(lines[a]) if c.isdigit()]:
            at = draw(st.sampled_from(places))
            digit = draw(st.sampled_from(("", lines[a][at] * 2, *characters)))  # lost, doubled or another one
            lines[a] = lines[a][:at] + digit + lines[a][at + 1 :]
    else:
        lines += lines
    return "".join(lines)
