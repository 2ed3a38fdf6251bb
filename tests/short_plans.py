"""Built-in plans with trials as short, and pairs as few, as a plan may have."""

import re
from importlib import resources

SHORTER = {"duration": 2, "warmup": 1, "repeats": 4, "count": 5}
START = "[[experiment]]\n"


def short_plan(name: str, rung: str) -> str:
    """The text of the plan, on that rung alone."""
    text = (resources.files("linkladder") / f"plan/builtin/{name}.toml").read_text()
    for key, value in SHORTER.items():
        text = re.sub(rf"^{key} = \d+$", f"{key} = {value}", text, flags=re.MULTILINE)
    text = re.sub(r"^rungs = .*$", f'rungs = ["{rung}"]', text, flags=re.MULTILINE)
    text = re.sub(r"^rung = .*$", f'rung = "{rung}"', text, flags=re.MULTILINE)
    missing = [key for key in ("warmup", "repeats") if f"\n{key} = " not in text]
    first, *experiments = text.split(START)
    return first + "".join(START + _added(missing, one) + one for one in experiments)


def _added(missing: list[str], experiment: str) -> str:
    pings = 'tool = "ping"' in experiment  # which have no warm-up
    return "".join(f"{key} = {SHORTER[key]}\n" for key in missing if not (pings and key == "warmup"))
