"""`./build.sh lab`: set the two appliances up, pair them, and open the console, a shell or a headless run."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import taken
from linkladder import units
from many import NAMES, ManyEnds
from network import Link
from taken import LabError, LabTaken
from world import Lab

PREFIX = "ll"


def main() -> int:
    args = arguments()
    lab = made(args)
    if args.down:
        lab.down(forget=True)
        with contextlib.suppress(LabTaken):  # whoever holds it sees that its lab is gone, and goes
            taken.release(PREFIX, taken.hold(PREFIX, 5.0))
        print("the lab is gone, with the runs that its appliances stored")
        return 0
    try:
        start(lab, args)
    except LabTaken as error:
        print(f"lab: {error}", file=sys.stderr)
        return 3
    except (LabError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        lab.down()
        return 3
    try:
        return headless(lab, args) if args.headless else console(lab, args)
    finally:
        if not args.keep:
            lab.down()


def made(args: argparse.Namespace) -> Lab:
    if args.down:  # whatever lab of this name there is
        return ManyEnds(PREFIX, patience=0.0, ends=len(NAMES))
    link = Link(args.dc_rate, args.dc_delay, args.dc_loss, args.dc_mtu)
    if args.ends == 2 and not args.shared:
        return Lab(PREFIX, link, patience=0.0)
    return ManyEnds(PREFIX, link, patience=0.0, ends=args.ends, shared=args.shared)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="build.sh lab", description="two paired appliances over real local links")
    parser.add_argument("--headless", action="store_true", help="run a plan and exit")
    parser.add_argument("--plan", default="quick")
    parser.add_argument("--rung", action="append", default=[])
    parser.add_argument("--json", metavar="F")
    parser.add_argument("--html", metavar="F")
    parser.add_argument("--down", action="store_true", help="remove every trace of the lab")
    parser.add_argument("--keep", action="store_true", help="leave the lab running afterwards")
    parser.add_argument("--single", action="store_true", help="one console instead of two")
    parser.add_argument("--shell", action="store_true", help="a shell on alpha instead of the console")
    parser.add_argument("--unpaired", action="store_true", help="leave the pairing to you")
    parser.add_argument("--dc-rate", type=units.parse_rate, default=1e9, metavar="R", help="default 1G")
    parser.add_argument("--dc-delay", type=float, default=0.0, metavar="MS", help="round trip added")
    parser.add_argument("--dc-loss", type=float, default=0.0, metavar="PERCENT")
    parser.add_argument("--dc-mtu", type=int, default=1500, metavar="N")
    parser.add_argument("--ends", type=int, default=2, choices=range(2, 9), metavar="N", help="appliances, 2 to 8")
    parser.add_argument("--shared", type=units.parse_rate, default=0.0, metavar="R", help="uplink of every second one")
    args = parser.parse_args()
    if (args.ends > 2 or args.shared) and (args.dc_delay or args.dc_loss or args.dc_mtu != 1500):
        parser.error("--dc-delay, --dc-loss and --dc-mtu are for two ends")
    for file in filter(None, (args.json, args.html)):  # now, and not when the run is over
        if Path(file).is_dir() or not Path(file).absolute().parent.is_dir():
            parser.error(f"{file} cannot be written: there is no such folder, or it is one itself")
    return args


def start(lab: Lab, args: argparse.Namespace) -> None:
    who = "" if lab.user == "root" else f", with the appliances run as {lab.user}"
    step(f"setting up {' and '.join(lab.sites)} in network namespaces{who}")
    lab.up()
    for what in lab.left_out:
        step(f"  left out: {what}")
    lab.describe_link()
    step("starting their control channels (OpenSSH, port 8622)")
    for site in lab.sites:
        lab.start_control(site)
    if args.unpaired:
        if knew := lab.unpair():
            step(f"{' and '.join(knew)} knew the other from an earlier lab: that is forgotten, the runs are kept")
    else:
        step("pairing alpha with each of them by a site secret" if args.ends > 2 else "pairing them by a site secret")
        lab.pair()


def headless(lab: Lab, args: argparse.Namespace) -> int:
    name = args.plan if not Path(args.plan).is_file() else str(Path(args.plan).resolve())
    command = ["run", "--plan", name, *(["--peer", "beta"] if args.ends == 2 else [])]
    for rung in args.rung:
        command += ["--rung", rung]
    earlier = newest(lab)
    done = lab.linkladder("alpha", *command, capture_output=False, stdin=subprocess.DEVNULL)
    run = newest(lab)
    if run == earlier:  # nothing was measured, and why has been said: an earlier run is not what was asked for
        return int(done.returncode)
    if args.json:
        shown = lab.linkladder("alpha", "show", run, "--json")
        if shown.returncode:
            print(shown.stderr, file=sys.stderr)
            return int(done.returncode) or shown.returncode
        hand_over(args.json, shown.stdout)
        step(f"the run's document is in {args.json}")
    if args.html:
        made = lab.linkladder("alpha", "report", run, "--html", "-")
        if made.returncode:
            print(made.stderr, file=sys.stderr)
            return made.returncode
        hand_over(args.html, made.stdout)
        step(f"the report is in {args.html}")
    return int(done.returncode)


def newest(lab: Lab) -> str:
    """The run that alpha has stored last; '' for none."""
    listed = lab.linkladder("alpha", "runs", "--json").stdout
    return next((str(run["id"]) for run in json.loads(listed or "[]")), "")


def hand_over(file: str, text: str) -> None:
    """Write a file that the person behind sudo owns."""
    Path(file).write_text(text)
    if "SUDO_UID" in os.environ:
        os.chown(file, int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]))


def console(lab: Lab, args: argparse.Namespace) -> int:
    if args.shell:
        step("this is a shell on alpha; try:  linkladder doctor   linkladder run   linkladder show last")
        shell = os.environ.get("SHELL", "/bin/sh")
        return subprocess.run(lab.command("alpha", [shell]), check=False).returncode
    linkladder = [sys.executable, "-m", "linkladder"]
    tmux = shutil.which("tmux")
    if args.single or not tmux:
        return subprocess.run(lab.command("alpha", linkladder), check=False).returncode
    socket = f"linkladder-{PREFIX}"
    session = [tmux, "-L", socket]
    start = [*session, "new-session", "-d", "-s", "lab", "-n", "alpha", *lab.command("alpha", linkladder)]
    subprocess.run(start, check=True)
    subprocess.run([*session, "set-option", "-g", "mouse", "on"], check=False)
    split = [*session, "split-window", "-d", "-t", "lab", "-v", *lab.command("beta", linkladder)]
    subprocess.run(split, check=False)
    for site in lab.sites[2:]:
        more = [*session, "new-window", "-d", "-t", "lab", "-n", site, *lab.command(site, linkladder)]
        subprocess.run(more, check=False)
    return subprocess.run([*session, "attach", "-t", "lab"], check=False).returncode


def step(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
