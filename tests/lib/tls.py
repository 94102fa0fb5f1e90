# SPDX-License-Identifier: Apache-2.0
"""tls - certificates of a test's own, and the options of a daemon that shows them."""
import subprocess


def certificate(folder, name, host="127.0.0.1"):
    """A certificate that signs itself; returns its file and that of its key."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    f"/CN={name}", "-addext", f"subjectAltName=IP:{host}", "-keyout",
                    str(key), "-out", str(cert)],
                   check=True, capture_output=True, timeout=120)
    return cert, key


def tls_options(cert, key):
    return ["--set", f"tls.certificate={cert}", "--set", f"tls.key={key}"]
