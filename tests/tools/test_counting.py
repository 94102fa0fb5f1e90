# SPDX-License-Identifier: Apache-2.0
"""scripts/test counts every case, and never takes a crash for a success."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import signal

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/test"


@pytest.fixture(scope="module")
def script():
    loader = importlib.machinery.SourceFileLoader("scripts_test", str(SCRIPT))
    spec = importlib.util.spec_from_loader("scripts_test", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


PASSED = "[  PASSED  ] 12 test(s).\n"
MIXED = "[  PASSED  ] 10 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n" \
        "[  FAILED  ] 2 test(s), listed below:\n"


@pytest.mark.parametrize("result, stderr, expected", [
    ("OK", PASSED, "12 passed, 0 failed"),
    ("OK", PASSED + PASSED, "24 passed, 0 failed"),
    ("OK", "", "1 passed, 0 failed"),
    ("FAIL", MIXED, "10 passed, 2 failed, 1 skipped"),
    ("FAIL", "", "0 passed, 1 failed"),
    ("FAIL", PASSED, "12 passed, 1 failed"),
    ("TIMEOUT", "", "0 passed, 1 failed"),
    ("SKIP", "", "0 passed, 0 failed, 1 skipped"),
])
def test_unit_tests_count_by_case(script, tmp_path, result, stderr, expected):
    log = tmp_path / "testlog.json"
    log.write_text(json.dumps({"name": "x", "result": result, "stderr": stderr}) + "\n")
    assert str(script.count_unit(log)) == expected


def test_pytest_reports_are_summed(script, tmp_path):
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite tests="7" failures="1" errors="1" '
                      'skipped="2"/></testsuites>')
    assert str(script.count_junit(report)) == "3 passed, 2 failed, 2 skipped"


def test_a_step_that_dies_without_a_report_fails(script, tmp_path, capsys):
    run = script.Run()
    run.step("dies", ["sh", "-c", "echo why it died; exit 1"],
             lambda _: script.count_junit(tmp_path / "none.xml"))
    assert str(run.total) == "0 passed, 1 failed"
    assert "why it died" in capsys.readouterr().out


def test_a_step_that_hangs_is_ended(script, monkeypatch, capsys):
    monkeypatch.setattr(script, "STEP_SECONDS", 0.2)
    run = script.Run()
    assert not run.step("hangs", ["sh", "-c", "sleep 60 & sleep 60"])
    assert str(run.total) == "0 passed, 1 failed"
    assert "ended after 0.2 s" in capsys.readouterr().out


def test_a_process_left_behind_does_not_keep_the_step(script, tmp_path):
    run, left = script.Run(), tmp_path / "pid"
    assert run.step("leaves one", ["sh", "-c", f"setsid sleep 3600 & echo $! >{left}"])
    assert str(run.total) == "1 passed, 0 failed"
    os.kill(int(left.read_text()), signal.SIGKILL) # it is still there
