"""Scanners of TLS servers, by what they find in weft's."""
import json
import pathlib
import xml.etree.ElementTree

from place import LeftOut, call, needed


def is_good(suite):
    """Whether the suite has forward secrecy and is an AEAD; names of RFC 8446 have their key exchange elsewhere."""
    aead = "GCM" in suite or "CHACHA20" in suite
    return aead and ("ECDHE" in suite or (suite.startswith("TLS_") and "_WITH_" not in suite))


def check_sslyze(place, checks):
    try:
        import sslyze
    except ImportError as missing:
        raise LeftOut("there is no sslyze: scripts/setup python") from missing
    command = sslyze.ScanCommand
    old = [command.SSL_2_0_CIPHER_SUITES, command.SSL_3_0_CIPHER_SUITES, command.TLS_1_0_CIPHER_SUITES, command.TLS_1_1_CIPHER_SUITES]
    new = [command.TLS_1_2_CIPHER_SUITES, command.TLS_1_3_CIPHER_SUITES]
    more = [command.TLS_COMPRESSION, command.HEARTBLEED, command.ROBOT, command.OPENSSL_CCS_INJECTION, command.SESSION_RENEGOTIATION,
            command.SESSION_RESUMPTION, command.TLS_FALLBACK_SCSV, command.TLS_1_3_EARLY_DATA, command.ELLIPTIC_CURVES]
    for certificate in ("server", "rsa"):
        with place.serving(checks, certificate=certificate) as server:
            scanner = sslyze.Scanner()
            scanner.queue_scans([sslyze.ServerScanRequest(sslyze.ServerNetworkLocation("localhost", server.port, ip_address="127.0.0.1"),
                                                          scan_commands=set(old + new + more))])
            found = next(scanner.get_results()).scan_result
            if not checks.that(found is not None, f"{certificate}: sslyze reaches the server"):
                continue
            result = {}
            for c in old + new + more:
                attempt = getattr(found, c.value)
                if checks.that(attempt.result is not None, f"{certificate}: the scan {c.value} is done", f"{attempt.error_reason} {attempt.error_trace}"):
                    result[c] = attempt.result
            judge_sslyze(checks, certificate, command, old, new, result)


def judge_sslyze(checks, certificate, command, old, new, result):
    def that(c, fact, name):
        if c in result:   # else it has failed above
            checks.that(fact(result[c]), f"{certificate}: {name}", result[c])

    for c in old:
        that(c, lambda r: not r.accepted_cipher_suites, f"{c.value}: none is accepted")
    for c in new:
        names = [a.cipher_suite.name for a in result[c].accepted_cipher_suites] if c in result else []
        checks.that(len(names) == 3 and all(map(is_good, names)), f"{certificate}: {c.value}: three are accepted, all of them AEAD with forward secrecy", names)
    that(command.TLS_COMPRESSION, lambda r: not r.supports_compression, "no compression")
    that(command.HEARTBLEED, lambda r: not r.is_vulnerable_to_heartbleed, "no Heartbleed")
    that(command.ROBOT, lambda r: r.robot_result.name.startswith("NOT_VULNERABLE"), "no ROBOT")
    that(command.OPENSSL_CCS_INJECTION, lambda r: not r.is_vulnerable_to_ccs_injection, "no injection of ChangeCipherSpec")
    that(command.SESSION_RENEGOTIATION, lambda r: not r.is_vulnerable_to_client_renegotiation_dos, "a client cannot renegotiate")
    that(command.SESSION_RENEGOTIATION, lambda r: r.supports_secure_renegotiation, "secure renegotiation is said to be known (RFC 5746)")
    that(command.SESSION_RESUMPTION, lambda r: r.tls_ticket_resumption_result.name == "FULLY_SUPPORTED", "tickets resume sessions")
    that(command.TLS_FALLBACK_SCSV, lambda r: r.supports_fallback_scsv, "a fallback is detected")
    that(command.TLS_1_3_EARLY_DATA, lambda r: not r.supports_early_data, "no early data, which could be replayed")
    that(command.ELLIPTIC_CURVES, lambda r: any(c.name == "X25519" for c in r.supported_curves) and any(c.openssl_nid == 415 for c in r.supported_curves), "X25519 and P-256")


def check_sslscan(place, checks):
    needed("sslscan", "sslscan (scripts/setup conformance)")
    for certificate in ("server", "rsa"):
        with place.serving(checks, certificate=certificate) as server:
            code, said = call("sslscan", "--no-colour", f"--xml={place['sslscan.xml']}", "--sni-name=localhost", f"127.0.0.1:{server.port}", seconds=120)
            if not checks.that(code == 0, f"{certificate}: sslscan ends", said):
                continue
            test = xml.etree.ElementTree.parse(place["sslscan.xml"]).getroot().find("ssltest")
            enabled = {(p.get("type") + p.get("version")) for p in test.findall("protocol") if p.get("enabled") == "1"}
            checks.that(enabled == {"tls1.2", "tls1.3"}, f"{certificate}: TLS 1.2 and 1.3 alone", enabled)
            suites = {c.get("cipher") for c in test.findall("cipher")}
            checks.that(len(suites) == 6 and all(is_good(s) for s in suites), f"{certificate}: six suites, all of them AEAD with forward secrecy", suites)
            checks.that(all(c.get("supported") == "0" for c in test.findall("compression")), f"{certificate}: no compression")
            checks.that(all(h.get("vulnerable") == "0" for h in test.findall("heartbleed")), f"{certificate}: no Heartbleed")
            checks.that(test.find("renegotiation").get("supported") == "0", f"{certificate}: a client cannot renegotiate")


# Findings about what the test is, not about TLS: its authority, its certificate's life, and HTTP's headers.
NOT_OURS = ("cert", "OCSP", "HSTS", "HPKP", "DNS_CAA", "security_headers", "overall_grade", "BREACH", "banner", "HTTP", "scanTime", "scanProblem",
            "optimal_proto", "engine_problem", "cipherlist_NULL")


def check_testssl(place, checks):
    needed("testssl", "testssl.sh (scripts/setup conformance)")
    for certificate in ("server", "rsa"):
        with place.serving(checks, certificate=certificate) as server:
            out = pathlib.Path(place["testssl.json"])
            out.unlink(missing_ok=True)
            _, said = call("testssl", "--quiet", "--color", "0", "--warnings", "off", "--ip", "127.0.0.1", "--protocols", "--std", "--fs",
                           "--server-preference", "--vulnerable", "--jsonfile", out, f"localhost:{server.port}", seconds=540)
            if not checks.that(out.exists(), f"{certificate}: testssl.sh ends", said):
                continue
            found = json.loads(out.read_text())
            checks.that(len(found) > 40, f"{certificate}: testssl.sh has looked at much", [f["id"] for f in found])
            by_id = {f["id"]: f["finding"] for f in found}
            for protocol in ("TLS1_2", "TLS1_3"):
                checks.that(by_id.get(protocol, "").startswith("offered"), f"{certificate}: {protocol} is offered", by_id)
            for f in found:
                if not f["id"].startswith(NOT_OURS):
                    checks.that(f["severity"] in ("OK", "INFO", "DEBUG"), f"{certificate}: {f['id']}", f)
