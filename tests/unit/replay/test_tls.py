"""https: the server's certificate is checked against the machine's own authorities."""

import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from orchestrator.domain.endpoint import Endpoint
from orchestrator.domain.load import OpenLoad
from orchestrator.domain.records import ReplayLog, RequestFailure
from orchestrator.replay import Timing, replay_open
from tests.unit.replay.scripted_server import answer, prepared, serving


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(private + built.public_bytes(serialization.Encoding.PEM))
    return path


def run(certificate: Path) -> ReplayLog:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(answer, ssl=context) as server:
        endpoint = Endpoint(f"https://127.0.0.1:{server.port}", "m")
        return replay_open(prepared(3), endpoint, load=OpenLoad(rate_rps=10), timing=Timing(0, 0.05, 5, 5))


def test_a_certificate_that_is_trusted_serves(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    log = run(certificate)
    assert {(one.failure, one.output_tokens_client) for one in log.records} == {(None, 2)}


def test_one_that_is_not_trusted_is_refused(certificate: Path) -> None:
    log = run(certificate)
    assert {one.failure for one in log.records} == {RequestFailure.REFUSED}
    assert "CERTIFICATE_VERIFY_FAILED" in (log.records[0].failure_detail or "")
