"""The page: whole, genuine or called altered, harmless whatever strangers write, small enough."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freebsd_dci
import trials
from judge_documents import GIGABIT, big, both, document, failed, ladder, rung, tcp, trial
from linkladder import cli, codec, report
from linkladder.judge import compare, judge_document
from linkladder.model import (
    Command,
    CpuUse,
    Direction,
    Document,
    End,
    Evidence,
    Fault,
    HostFacts,
    MemoryUse,
    RunEnd,
    RungName,
)
from linkladder.printable import clean
from linkladder.report import page_data, seal, signing, verify, view

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x00\x1b[31m\u202e{{7*7}}</details>"


class Markup(HTMLParser):
    """What a browser would see: tags, attributes, and the text outside the data blocks."""

    VOID = {"meta", "br", "img", "link", "hr", "input"}

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)


@pytest.fixture(scope="module")
def page() -> str:
    return report.html(freebsd_dci.document(mtu=9000))


def test_the_picture_of_the_ladder_shows_the_rates_that_the_verdicts_rest_on() -> None:
    """A setting above the ceiling counts, as what is impossible, and is still not what the link carries."""
    settings = (
        (streams, way, tuple(trial(bps, way, n) for n in range(3)))
        for streams, bps in ((1, 941e6), (8, 1.2e9))
        for way in (Direction.FORWARD, Direction.REVERSE)
    )
    link = rung(RungName.DC_LINK, *(tcp(way, trials, streams) for streams, way, trials in settings))
    made = document(both(RungName.SAME_HOST, 4e9), link)
    judged = judge_document(made)
    (found,) = (r for r in judged.rungs if r.rung == RungName.DC_LINK)
    assert set(found.by_direction.values()) == {941e6} and found.experiments[-1].counts
    drawn = str(view.ladder(made, judged, GIGABIT))
    assert "941 Mb/s near to far, 941 Mb/s far to near" in drawn and "1.20 Gb/s" not in drawn


@pytest.mark.parametrize("end", End)
def test_server_and_client_are_the_ends_that_ran_them(end: End) -> None:
    """In reverse with a window the client runs at the far end, which then is no server."""
    cpu = {"near": CpuUse(11.0, 20.0, 0.4), "far": CpuUse(77.0, 90.0, 3.0)}
    memory = {"near": MemoryUse(8 << 20, 1 << 20, 1 << 20), "far": MemoryUse(8 << 20, 7 << 20, 7 << 20)}
    ran_by = Command(str(end), "client", ("iperf",))
    made = trial(941e6, Direction.REVERSE)
    measured = tcp(Direction.REVERSE, (trials.changed(made, cpu=cpu, memory=memory, commands=(ran_by,)),), 1)
    ((_, (cell,)),) = view._matrices(rung(RungName.DC_LINK, measured))[0].rows
    near, far = ("11 %", "1.00 MB"), ("77 %", "7.00 MB")
    server, client = (far, near) if end is End.NEAR else (near, far)
    assert cell and (cell.server, cell.client) == (server[0], client[0])
    assert cell.memory == f"{server[1]} / {client[1]}"


def test_seed_tables_in_their_own_form(page: str) -> None:
    text = " ".join(Markup(page).text)
    for cell in ("75.4 - 83.0 Gb/s", "CPU 23 % / 23 %", "6.50 - 6.71 Gb/s", "CPU 70 % / 40 %", "19.1 - 22.8 Gb/s",
                 "MEM 500 MB / 500 MB", "Window 800k", "PASS (provisional)", "98.4 %", "DC interconnect"):  # fmt: skip
        assert cell in text, cell


def test_it_stands_alone(page: str) -> None:
    markup = Markup(page)
    assert not markup.open
    for tag, attributes in markup.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form"), tag
        assert not {k for k in attributes if k in ("src", "href", "srcset", "action") or k.startswith("on")}
        if tag == "script":
            assert attributes["type"] == "application/json"
    assert (
        "url(" not in page
        and "@import" not in page
        and "http" not in re.sub(r'http-equiv="', "", page.split("<script")[0])
    )


def test_charts_have_words_for_those_who_cannot_see_them() -> None:
    markup = Markup(report.html(ladder(950e6)))
    charts = [a for t, a in markup.tags if t == "svg"]
    assert len(charts) >= 5
    assert all(a["role"] == "img" and len(a["aria-label"] or "") > 30 for a in charts)
    assert "ceiling" in (charts[-1]["aria-label"] or "")


def test_strangers_text_stays_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = both(RungName.DC_LINK, 950e6)
    t = trial(950e6, commands=(Command(End.NEAR, EVIL, ("iperf", EVIL), 0, EVIL, EVIL),), warnings=(EVIL,))
    bad = dataclasses.replace(failed(Fault.TOOL, EVIL, n=1), id=EVIL)
    link = dataclasses.replace(
        names, paths=(dataclasses.replace(names.path, peer=EVIL, local=EVIL, remote=EVIL, local_interface=EVIL),),
        experiments=(*names.experiments, tcp(Direction.FORWARD, (t, bad), 8, label=EVIL)),
        evidence=Evidence(EVIL, (EVIL,), contradicts=True, asked=EVIL, word=EVIL, against=(EVIL,)),
    )  # fmt: skip
    made = document(both(RungName.SAME_HOST, 4e9), link)
    evil_host = HostFacts(EVIL, cpu=EVIL, kernel=EVIL, sysctls={EVIL: EVIL}, tools={EVIL: EVIL})
    plan = dataclasses.replace(
        made.run.plan, name=EVIL, title=EVIL, contract=dataclasses.replace(made.run.plan.contract, circuit=EVIL)
    )
    run = dataclasses.replace(
        made.run,
        id=EVIL,
        plan=plan,
        notes=(EVIL,),
        started=EVIL,
        ends=(RunEnd("near", evil_host), RunEnd(EVIL, evil_host)),
    )
    evil = dataclasses.replace(made, run=run)
    page = report.html(evil, comparison=compare(evil, evil))
    clean_page = report.html(made)
    markup = Markup(page)
    assert not markup.open
    assert {t for t, _ in markup.tags} == {t for t, _ in Markup(clean_page).tags} | {
        "pre",
        "code",
        "details",
        "summary",
    }
    assert not any(k.startswith("on") for _, a in markup.tags for k in a)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page)
    assert "7*7" in page and verify.check(page, {}).state is verify.State.UNSIGNED
    assert page_data.head(page)["document"]["run"]["id"] == EVIL
    source = tmp_path / "evil.json"
    source.write_text("".join(report.json_pieces(evil)))
    twice = dataclasses.replace(evil, rungs=(link, link))
    (tmp_path / "twice.json").write_text(json.dumps(codec.to_json(twice)))
    for argv in (["judge", str(source), "--compare", str(source)], ["judge", str(tmp_path / "twice.json")],
                 ["plan", "follow-up", str(source)]):  # fmt: skip
        cli.main(argv)
        printed = capsys.readouterr()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", printed.out + printed.err)
    for line in report.openmetrics(evil).splitlines():
        assert line.startswith("#") or re.fullmatch(r'\w+\{(\w+="(\\.|[^"\\])*",?)+\} [-+.e\d]+', line), line
    assert next(csv.reader(io.StringIO(report.csv_trials(evil))))[0] == "run"


def test_a_formula_is_not_run_by_a_spreadsheet() -> None:
    made = ladder(950e6)
    evil = dataclasses.replace(made, run=dataclasses.replace(made.run, id="=cmd|' /C calc'!A0"))
    rows = list(csv.reader(io.StringIO(report.csv_trials(evil))))
    assert rows[1][0].startswith("'=")


@given(st.text())
def test_clean_leaves_nothing_unseen(text: str) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", str(clean(text)))


# --- genuine or not


def test_signed_by_this_appliance_and_by_nobody_else() -> None:
    page = report.html(ladder(950e6), key=signing.own_key())
    found = verify.check(page, signing.known_signers())
    assert found.state is verify.State.VALID and found.signer == "this appliance" and found.genuine
    stranger = verify.check(page, {})
    assert stranger.state is verify.State.UNKNOWN_KEY and not stranger.genuine


def test_a_peers_key_is_known_by_its_name() -> None:
    page = report.html(ladder(950e6), key=signing.own_key())
    key = next(iter(signing.known_signers()))
    assert verify.check(page, {key: "beta"}).signer == "beta"


def test_any_altered_digit_is_found() -> None:
    key, known = signing.own_key(), signing.known_signers()
    page = report.html(ladder(950e6), key=key)
    digits = [m.start() for m in re.finditer(r"\d", page)]
    for at in digits[:: max(1, len(digits) // 150)]:
        other = str((int(page[at]) + 1) % 10)
        found = verify.check(page[:at] + other + page[at + 1 :], known)
        assert not found.genuine, page[at - 40 : at + 40]


@cache
def the_seeds() -> str:
    return report.html(freebsd_dci.document())


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_change_at_all_is_found(data: st.DataObject) -> None:
    page = the_seeds()
    at = data.draw(st.integers(0, len(page) - 1))
    kind = data.draw(st.sampled_from(["drop", "insert", "double"]))
    changed = {
        "drop": page[:at] + page[at + 1 :],
        "insert": page[:at] + "<b>0</b>" + page[at:],
        "double": page[:at] + page[at:] * 2,
    }[kind]
    found = verify.check(changed, {})
    assert found.state is verify.State.ALTERED


def test_a_forger_cannot_seal_again() -> None:
    """New hash, old signature or none: never valid; and data that say otherwise than the page are found out."""
    page = report.html(ladder(950e6), key=signing.own_key())
    known = signing.known_signers()
    changed = page.replace("950 Mb/s", "990 Mb/s")
    whole, digest, _ = seal.SEAL.findall(changed)[0]
    bare = changed.replace(whole, "")
    resealed = changed.replace(digest, hashlib.sha256(bare.encode()).hexdigest())
    assert verify.check(resealed, known).state is verify.State.ALTERED
    stripped = seal.seal(page.replace(seal.SEAL.findall(page)[0][0], ""), None)
    assert verify.check(stripped, known).state is verify.State.UNSIGNED and not verify.check(stripped, known).genuine
    # Even who holds a key cannot make the words differ from the data.
    lied = seal.seal(bare, lambda text: signing.sign(text, signing.own_key()))
    assert verify.check(lied, known).state is verify.State.ALTERED


def test_a_page_cannot_borrow_a_name() -> None:
    """Signed by one known key while it names another: found out."""
    page = report.html(ladder(950e6), key=signing.own_key())
    named = page_data.head(page)["signer"]
    bare = page.replace(seal.SEAL.findall(page)[0][0], "").replace(named, "SHA256:" + "A" * 43)
    renamed = seal.seal(bare, lambda text: signing.sign(text, signing.own_key()))
    assert verify.check(renamed, signing.known_signers()).state is verify.State.ALTERED


def test_a_page_of_another_version_rests_on_its_signature() -> None:
    page = report.html(ladder(950e6), key=signing.own_key())
    whole = seal.SEAL.findall(page)[0][0]
    renderer = page_data.head(page)["renderer"]
    older = page.replace(whole, "").replace(renderer, "0" * 64)
    sealed = seal.seal(older, lambda text: signing.sign(text, signing.own_key()))
    found = verify.check(sealed, signing.known_signers())
    assert found.state is verify.State.VALID and any("another version" in d for d in found.details)


@pytest.mark.parametrize("text", ["", "<html>", "{}", "x" * 1000, seal.BLANK])
def test_what_is_no_report_is_not_genuine(text: str) -> None:
    assert not verify.check(text, {}).genuine


@pytest.mark.parametrize(
    "signature", [r'"\q"', r'"\ud800"', r'"\u0000"', '""'], ids=["escape", "surrogate", "nul", "empty"]
)
def test_a_seal_that_nobody_could_have_written_is_called_altered(
    signature: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the right hash, so that the signature is what is wrong."""
    page = report.html(ladder(950e6))
    forged = page.replace('"signature": null', f'"signature": {signature}')
    assert verify.check(forged, {}).state is verify.State.ALTERED
    (tmp_path / "forged.html").write_text(forged)
    assert cli.main(["verify", str(tmp_path / "forged.html")]) == 1
    assert capsys.readouterr().out.startswith("ALTERED: ")


def test_a_strangers_page_that_names_no_key_is_called_altered() -> None:
    """Of another version, so that it is not rendered again, and rightly signed by whoever wrote it."""
    page = report.html(ladder(950e6), key=signing.own_key())
    bare = page.replace(seal.SEAL.findall(page)[0][0], "")
    other = bare.replace(page_data.head(page)["renderer"], "0" * 64).replace('"signer":', '"key":')
    sealed = seal.seal(other, lambda text: signing.sign(text, signing.own_key()))
    assert verify.check(sealed, signing.known_signers()).state is verify.State.ALTERED


def test_who_signed_is_not_said_to_be_who_measured() -> None:
    """A document of alpha may be written and signed on another appliance, whose name no page can prove."""
    page = report.html(ladder(950e6), key=signing.own_key())
    assert f"<dd>key {page_data.head(page)['signer']} of the appliance that made this page</dd>" in page


def test_what_was_not_measured_is_neither_failed_nor_climbed() -> None:
    """A cancelled run of the link alone: one of its settings was never begun, another broke."""
    broken = tcp(Direction.FORWARD, (failed(Fault.TOOL),), 2)
    never = tcp(Direction.FORWARD, (), 8)
    page = report.html(document(rung(RungName.DC_LINK, broken, never)))
    assert [row for n in (2, 8) for row in re.findall(rf"<tr><th>{n}</th><td[^>]*><b>([a-z ]*)</b>", page)] == [
        "failed",
        "not run",
    ]
    assert "rungs were climbed" not in page


def test_the_page_says_how_its_units_count() -> None:
    """A transfer of 1.44 GB in 13 s is 950 Mb/s only by sizes in 1024s."""
    page = report.html(ladder(950e6))
    assert "(1.44 GB in 13.00 s)" in page and "count bytes in 1024s: 1 MB is 1,048,576 bytes" in page


# --- exports and commands


def test_json_is_the_same_schema_with_a_judgement() -> None:
    made = freebsd_dci.document()
    back = codec.from_json(Document, json.loads("".join(report.json_pieces(made))))
    assert back.judgement == judge_document(made) and dataclasses.replace(back, judgement=None) == made


def test_csv_has_a_row_a_trial_and_a_row_an_interval() -> None:
    made = ladder(950e6)
    trials = [t for r in made.rungs for e in r.experiments for t in e.trials]
    rows = list(csv.DictReader(io.StringIO(report.csv_trials(made))))
    assert len(rows) == len(trials) and rows[-1]["verdict"] == "PASS" and float(rows[-1]["reverse_bps"]) == 950e6
    intervals = list(csv.DictReader(report.csv_intervals(made)))
    assert len(intervals) == sum(len(t.intervals) for t in trials) and intervals[0]["counted"] == "False"


def test_openmetrics_ends_as_the_format_asks() -> None:
    text = report.openmetrics(ladder(950e6))
    assert text.endswith("# EOF\n") and 'linkladder_verdict{run="run1",rung="dc-link",verdict="PASS"' in text


def test_two_hundred_trials_fit_in_two_megabytes() -> None:
    made = big(200)
    page = report.html(made)
    assert len(page.encode()) < 2_000_000
    assert verify.check(page, {}).state is verify.State.UNSIGNED  # intact after condensing


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "run.json"
    source.write_text("".join(report.json_pieces(freebsd_dci.document())))
    assert cli.main(["judge", str(source)]) == 0
    assert "IMPOSSIBLE" in capsys.readouterr().out
    assert cli.main(["judge", str(source), "--exit-code"]) == 1
    capsys.readouterr()
    assert cli.main(["judge", str(source), "--mtu", "9000", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["judgement"]["verdict"] == "CANNOT JUDGE"
    assert cli.main(["ceiling", "--rate", "10G", "--mtu", "1500"]) == 0
    told = capsys.readouterr().out
    assert "9.415 Gb/s" in told and "1472 of every 1538 bytes" in told, "the largest datagram is one packet"
    assert cli.main(["ceiling", "--rate", "1G", "--layer", "l2"]) == 0
    assert "956.4 Mb/s" in capsys.readouterr().out
    assert cli.main(["ceiling", "--rate", "10G", "--contract", "1G", "--layer", "L1", "--vlan", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tcp"]["bps"] == pytest.approx(1e9 * 1448 / 1542)
    page = tmp_path / "r.html"
    assert cli.main(["report", str(source), "--html", str(page), "--csv", str(tmp_path / "r.csv")]) == 0
    assert (tmp_path / "r-intervals.csv").exists()
    assert cli.main(["verify", str(page)]) == 0 and "this appliance" in capsys.readouterr().out
    page.write_text(page.read_text().replace("9.74", "9.84"))
    assert cli.main(["verify", str(page)]) == 1 and "ALTERED" in capsys.readouterr().out
    assert cli.main(["judge", str(tmp_path / "none.json")]) == 3
    (tmp_path / "no.json").write_text('{"run": 1}')
    assert cli.main(["judge", str(tmp_path / "no.json")]) == 2


def test_failed_trials_are_listed_with_their_reason() -> None:
    link = rung(RungName.DC_LINK, tcp(Direction.FORWARD, (trial(950e6), failed(Fault.TOOL, "bind failed: no address"))))
    assert "bind failed: no address" in report.html(document(link))
