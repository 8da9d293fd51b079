from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.heads import ROOT, Head

pytestmark = pytest.mark.cluster

CODE = """
from pathlib import Path
from orchestrator.cluster.jobs import inside_job, job_working_dir, submission_id
print("inside", inside_job(), "id", submission_id(), "same", job_working_dir() == Path.cwd().resolve())
print("study", Path("study.yaml").read_text())
"""


def test_a_submitted_job_knows_that_it_is_one_and_which_folder_goes_away(head: Head, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("name: mine", encoding="utf-8")
    (tmp_path / "job.py").write_text(CODE, encoding="utf-8")
    runtime_env = f'{{"env_vars": {{"PYTHONPATH": "{ROOT}"}}}}'
    submitted = head.ray(
        "job", "submit", "--no-wait", "--submission-id", "seatrial-1", "--working-dir", str(tmp_path),
        "--runtime-env-json", runtime_env, "--", "python", "job.py",
    )  # fmt: skip
    assert submitted.returncode == 0, submitted.stderr
    assert head.await_end("seatrial-1") == "SUCCEEDED", head.ray("job", "logs", "seatrial-1").stdout
    said = head.ray("job", "logs", "seatrial-1").stdout
    assert "inside True id seatrial-1 same True" in said
    assert "study name: mine" in said


def test_a_client_without_the_token_is_refused(head: Head, tmp_path: Path) -> None:
    stranger = replace(head, environ={**head.environ, "HOME": str(tmp_path), "RAY_AUTH_TOKEN": "f" * 64})
    done = stranger.ray("job", "list")
    assert done.returncode != 0
    assert "oken" in done.stderr + done.stdout
