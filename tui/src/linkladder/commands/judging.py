"""`linkladder judge`, `ceiling`, `report`, `verify`: judges and reports runs, and verifies reports."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from linkladder import atomic_files, phrases, report, units
from linkladder.codec import to_json
from linkladder.commands.read_documents import is_file, read_document, reservations, tell
from linkladder.errors import EnvironmentFault, UsageError, why_no_file
from linkladder.judge import Overrides, Verdict, ceiling, compare, judge_document, largest_datagram
from linkladder.judge.remedies import PORTS
from linkladder.model import Contract, Document, Layer, Protocol, RungResult
from linkladder.phrases import company as words
from linkladder.phrases.comparison import MEANS
from linkladder.printable import one_line
from linkladder.report import signing, verify
from linkladder.verdicts import CompanyJudgement, Comparison, DocumentJudgement

MOST_ENCAP = 200  # bytes, the same limit as in a plan's contract


def add_parsers(commands: Any) -> None:
    judge = commands.add_parser("judge", help="judge a stored or foreign document, if need be under other assumptions")
    judge.add_argument("document", help="a document's file, a run's id, the beginning of one, or 'last'")
    _assumptions(judge)
    judge.add_argument("--compare", metavar="RUN2", help="an earlier document or run to compare it with")
    judge.add_argument("--json", action="store_true")
    judge.add_argument("--exit-code", action="store_true", help="exit with 1 unless the verdict is PASS")
    judge.set_defaults(handler=_judge)
    best = commands.add_parser("ceiling", help="the best goodput that a link can carry")
    _assumptions(best)
    best.add_argument("--json", action="store_true")
    best.set_defaults(handler=_ceiling)
    write = commands.add_parser("report", help="write a run as HTML, JSON, CSV or OpenMetrics")
    write.add_argument("run", help="a run's id, the beginning of one, 'last', or a document's file")
    write.add_argument("--html", metavar="F", help="one self-contained page (the default: RUN.html)")
    write.add_argument("--json", metavar="F", help="the document with its judgement")
    write.add_argument("--csv", metavar="F", help="one row a trial; the intervals go to F with -intervals in its name")
    write.add_argument("--openmetrics", metavar="F", help="figures for a monitoring system")
    write.add_argument("--compare", metavar="RUN2", help="put a comparison with an earlier run into the page")
    write.add_argument("--unsigned", action="store_true", help="do not sign the page with this appliance's key")
    _assumptions(write)
    write.set_defaults(handler=_report)
    check = commands.add_parser("verify", help="whether a report is as it was written, and who signed it")
    check.add_argument("file")
    check.add_argument("--signers", metavar="F", help="keys to trust besides this appliance's own and its peers'")
    check.add_argument("--json", action="store_true")
    check.set_defaults(handler=_verify)


def _assumptions(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("assumptions about the link, in place of the plan's")
    group.add_argument(
        "--rate", metavar="R", type=_rate, help="the link's rate: the port's, or with --layer what is sold"
    )
    group.add_argument("--contract", metavar="R", type=_rate, help="contracted rate, where it is lower")
    group.add_argument("--layer", type=lambda t: str(t).upper(), choices=[str(x) for x in Layer], help="it counts")
    group.add_argument("--fcs", action="store_true", default=None, help="its L2 frames count their FCS, as MEF's do")
    group.add_argument("--mtu", type=_mtu)
    group.add_argument("--vlan", nargs="?", const=1, type=int, choices=range(4), metavar="N", help="VLAN tags (1)")
    group.add_argument("--encap", type=_encap, metavar="BYTES", help="other encapsulation")
    group.add_argument("--ipv6", action="store_true", default=None)
    group.add_argument("--ipv4", action="store_true", default=None)
    group.add_argument("--no-timestamps", action="store_true", default=None, help="TCP timestamps are off")
    group.add_argument("--pass-ratio", type=_ratio, metavar="X", help="share of the ceiling needed to pass (0.97)")


def _rate(text: str) -> float:
    try:
        return units.parse_rate(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _mtu(text: str) -> int:
    if not text.isdecimal() or not 576 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"expected an MTU from 576 to 65535, got {text[:20]!r}")
    return int(text)


def _encap(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_ENCAP:
        raise argparse.ArgumentTypeError(f"expected 0 to {MOST_ENCAP} bytes, got {text[:20]!r}")
    return int(text)


def _ratio(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"expected a share above 0 and at most 1, got {text[:20]!r}")
    return value


def _overrides(args: argparse.Namespace) -> Overrides:
    layer = Layer(args.layer) if args.layer else None
    port, sold = args.rate, args.contract
    if port is not None and sold is None:
        # A single rate describes the whole link: the port's, or the contracted one if it counts another layer than L1.
        layer, sold = layer or Layer.L1, args.rate
        port = args.rate if layer is Layer.L1 else None
    return Overrides(
        port_bps=port,
        rate_bps=sold,
        layer=layer,
        mtu=args.mtu,
        vlan_tags=args.vlan,
        encap_bytes=args.encap,
        ip_version=6 if args.ipv6 else 4 if args.ipv4 else None,
        timestamps=False if args.no_timestamps else None,
        pass_ratio=args.pass_ratio,
        fcs=args.fcs,
    )


def _judge(args: argparse.Namespace) -> int:
    document = read_document(args.document)
    judged = judge_document(document, _overrides(args))
    compared = _compared(document, args)
    said = reservations(document, judged)
    if args.json:
        tell(said)
        value = to_json(judged)
        print(json.dumps(value | {"comparison": to_json(compared)} if compared else value, indent=1))
    else:
        _print(judged, document, args.document)
        for text in said:
            _say(text, gap=True)
        if compared:
            _print_comparison(compared)
    return 1 if args.exit_code and judged.verdict is not Verdict.PASS else 0


def _compared(document: Document, args: argparse.Namespace) -> Comparison | None:
    """The run beside the earlier one of `--compare`, which is the first of the two."""
    return compare(read_document(args.compare), document) if args.compare else None


def _print(judged: DocumentJudgement, document: Document, name: str) -> None:
    _say(judged.sentence)
    assumed = ", ".join(
        f"{k} {v}{' (overridden)' if k in judged.overridden else ''}" for k, v in judged.assumptions.items()
    )
    _say(f"  assumed: {assumed}")
    for best in judged.ceilings.values():
        _say(f"  ceiling: {best.sentence}")
    for rung, measured in zip(judged.rungs, document.rungs, strict=True):
        _say(f"{rung.rung}: {rung.sentence}", gap=True)
        if rung.limiter:
            _say(f"  limit:   {rung.limiter.sentence}")
            if rung.limiter.experiment:
                _say(f"  to tell: {rung.limiter.experiment}")
        for label, texts in (
            ("because", rung.judgement.reasons),
            ("finding", rung.judgement.findings),
            ("do", rung.judgement.remedies),
        ):
            for text in texts:
                _say(f"  {label + ':':8} {text}")
        if rung.company:
            _print_company(rung.company, measured)
        for text in rung.rests_on:
            _say(f"  rests on {text}")
        for seen in rung.latency:
            _say(f"  latency: {phrases.latency(seen, measured.paths)}")
        for r in rung.rfc6349:
            _say(f"  RFC 6349 {phrases.way(r.direction, measured.paths)}: {report.rfc6349_words(r)}")
    print()
    for text in judged.diagnosis:
        _say(text)
    for f in judged.follow_up:
        _say(f"not settled: {f.question}. To tell: {f.tells}.")
    if judged.follow_up:
        measures = "" if is_file(name) else f"linkladder run --follow-up {document.run.id} measures it; "
        _say(f"  {measures}linkladder plan follow-up {name} shows it as a plan.")


def _print_company(seen: CompanyJudgement, measured: RungResult) -> None:
    """Print the matrices from row to column, the fairness, and how far apart the legs began."""
    for view, title in (("alone", f"alone ({words.LEGEND})"), ("with all", "all at once")):
        if any(words.figure(cell, view) != "." for cell in seen.cells):
            _say(f"  from row to column, {title}:")
            for line in words.lines(seen.cells, view):
                _say(f"    {line}")
    for way, share in seen.fairness.items():
        which = phrases.way(way, measured.paths)
        _say(f"  fairness {which}: {share:.3f} (1: each keeps the same share of what it carries alone)")
    if seen.skew_ms is not None:
        _say(f"  the legs of a trial began within {seen.skew_ms:.0f} ms")


def _print_comparison(compared: Comparison) -> None:
    _say(f"{compared.a} / {compared.b}: {compared.sentence}", gap=True)
    for d in compared.differences:
        _say(f"  {d.sentence}")
    if compared.differences:
        _say(f"  {MEANS}")
    for f in compared.figures:
        _say(f"  {phrases.compared(f)}")
    for text in compared.environment:
        _say(f"  environment: {text}")
    for text in compared.only_in_one:
        _say(f"  {text}")


def _say(text: str, gap: bool = False) -> None:
    print(("\n" if gap else "") + one_line(text))


def _ceiling(args: argparse.Namespace) -> int:
    wider = next((p for p in PORTS if p > (args.rate or args.contract or 10e9)), 1e12)
    base = Contract(port_bps=wider if args.rate or args.contract else 10e9)
    deal = _overrides(args).apply(base)
    found = {"tcp": ceiling(deal), "udp": ceiling(deal, Protocol.UDP, largest_datagram(deal))}
    if args.json:
        print(json.dumps({k: to_json(v) for k, v in found.items()}, indent=1))
        return 0
    for best in found.values():
        print(best.sentence)
    return 0


def _report(args: argparse.Namespace) -> int:
    targets = [t for t in (args.html, args.json, args.csv, args.openmetrics) if t]
    if len(set(targets)) < len(targets):
        raise UsageError("two forms cannot be written to one place", hint="name a file for each")
    document = read_document(args.run)
    overrides = _overrides(args)
    compared = _compared(document, args)
    if document.judgement or document.abridged:  # read from a file
        tell(reservations(document, judge_document(document, overrides)))
    html = args.html or (None if targets else f"{document.run.id}.html")
    if html:
        signer = None if args.unsigned else signing.own_key()
        _write(html, [report.html(document, overrides, compared, signer)])
    if args.json:
        _write(args.json, report.json_pieces(document, overrides))
    if args.csv:
        intervals = Path(args.csv)
        _write(args.csv, [report.csv_trials(document, overrides)])
        if args.csv != "-":
            name = intervals.with_name(f"{intervals.stem}-intervals{intervals.suffix}")
            _write(str(name), report.csv_intervals(document))
    if args.openmetrics:
        _write(args.openmetrics, [report.openmetrics(document, overrides)])
    return 0


def _write(name: str, text: Iterable[str]) -> None:
    if name == "-":
        sys.stdout.writelines(text)
        return
    try:
        atomic_files.deliver(Path(name), text)
    except OSError as error:
        raise EnvironmentFault(f"{name} cannot be written", why_no_file(error), "choose another place") from None
    print(f"wrote {name}", file=sys.stderr)


def _verify(args: argparse.Namespace) -> int:
    try:
        text = Path(args.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        hint = "give a page as `linkladder report` or the console wrote it"
        raise EnvironmentFault(f"{args.file} cannot be read", why_no_file(error), hint) from None
    found = verify.check(text, signing.known_signers(Path(args.signers) if args.signers else None))
    if args.json:
        print(json.dumps(to_json(found), indent=1))
    else:
        _say(found.sentence)
        for line in found.details:
            _say(f"  {line}")
    return 0 if found.genuine else 1
