"""What the log says about a message that could not be applied."""

from __future__ import annotations

from structlog.testing import capture_logs

from daemon.engine.assembly import _report


def _fault() -> Exception:
    try:
        b"\xed\xa0\x80 of ann@example.test".decode()
    except UnicodeDecodeError as error:
        return error
    raise AssertionError


def test_a_fault_is_logged_by_its_type_and_place_and_never_by_its_words() -> None:
    fault = _fault()
    with capture_logs() as logs:
        _report(("acme", "run-1"), fault)
    assert [(line["event"], line["error"]) for line in logs] == [("message_failed", "UnicodeDecodeError")]
    assert "test_reports.py" in logs[0]["where"]
    assert "exc_info" not in logs[0]
    assert "ann@example.test" not in repr(logs)
