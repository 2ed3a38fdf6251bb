"""The page in a real browser: no error, no request, no sideways scrolling on a phone, text in the print."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import freebsd_dci
from judge_documents import big
from linkladder import report
from linkladder.model import Document

CHROMIUM = next((c for c in map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome")) if c), "")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")]
KEEP = os.environ.get("LINKLADDER_ARTIFACTS")  # a folder for the pictures, to be looked at


def browse(url: str, folder: Path, *options: str) -> str:
    argv = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-component-update",
            "--disable-background-networking", "--no-first-run", f"--user-data-dir={folder / 'profile'}",
            "--enable-logging=stderr", *options, url]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + "\n" + "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def pages() -> dict[str, Document]:
    return {"seed": freebsd_dci.document(9000), "big": big(40)}


@pytest.fixture(params=["seed", "big"])
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"{request.param}.html"
    path.write_text(report.html(pages()[request.param]), encoding="utf-8")
    return path


def test_no_console_error_and_no_request(page: Path, tmp_path: Path) -> None:
    log = tmp_path / "net.json"
    out = browse(page.as_uri(), tmp_path, "--dump-dom", f"--log-net-log={log}")
    assert "CONSOLE" not in out
    asked = set(re.findall(r'"url":"((?:https?|wss?|ftp)://[^"]+)"', log.read_text()))
    assert not {u for u in asked if "google" not in u and "gvt1" not in u}, asked  # the browser's own errands aside
    assert "</html>" in out


@pytest.mark.parametrize("width", [390, 1280])
def test_no_sideways_scrolling(page: Path, tmp_path: Path, width: int) -> None:
    """Measured inside a frame of that width, since a browser's window has a least width of its own."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    probe = (
        "<script>onload=()=>{const d=document.documentElement;const wide=[...document.querySelectorAll('body *')]"
        ".filter(e=>!e.closest('.wide')&&e.getBoundingClientRect().right>innerWidth+1).map(e=>e.tagName);"
        "parent.postMessage({width:d.scrollWidth,inner:innerWidth,wide},'*')}</script></body>"
    )
    (tmp_path / "inner.html").write_text(text.replace("</body>", probe))
    outer = tmp_path / "outer.html"
    outer.write_text(
        f"<body style='margin:0'><iframe src='inner.html' style='width:{width}px;height:3000px;border:0'></iframe>"
        "<pre id=o></pre><script>onmessage=e=>{o.textContent=JSON.stringify(e.data)}</script>"
    )
    out = browse(outer.as_uri(), tmp_path, "--dump-dom", "--virtual-time-budget=5000", "--window-size=1400,3000")
    found = re.search(r'<pre id="o">(\{.*?\})</pre>', out)
    assert found, out[:500]
    seen = json.loads(found[1].replace("&quot;", '"'))
    assert seen["inner"] == width and seen["width"] <= width and not seen["wide"], seen


def test_pictures_and_print(page: Path, tmp_path: Path) -> None:
    folder = Path(KEEP) if KEEP else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    phone = tmp_path / "phone.html"  # a window has a least width of its own, a frame has not
    phone.write_text(f"<body style='margin:0'><iframe src='{page.name}' style='width:390px;height:2400px;border:0'>")
    for width, shown in ((1280, page), (390, phone)):
        shot = folder / f"{page.stem}-{width}.png"
        browse(shown.as_uri(), tmp_path, f"--screenshot={shot}", f"--window-size={max(width, 500)},2400")
        assert shot.stat().st_size > 30_000
    pdf = folder / f"{page.stem}.pdf"
    browse(page.as_uri(), tmp_path, f"--print-to-pdf={pdf}", "--no-pdf-header-footer")
    if not shutil.which("pdftotext"):
        pytest.skip("no pdftotext to read the print with")
    text = subprocess.run(["pdftotext", "-layout", str(pdf), "-"], capture_output=True, text=True, check=True).stdout
    assert "The ladder" in text and "Method" in text and "dc-link" in text
    if page.stem == "seed":
        for figure in ("75.4 - 83.0", "19.1 - 22.8", "9.74 Gb/s", "98.4 %"):
            assert figure in text, figure
