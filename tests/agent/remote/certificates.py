"""Certificates for servers on loopback, issued by an authority that only the test knows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import trustme

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Certificate:
    """The files of a server: its certificate chain and its key."""

    chain: Path
    key: Path


class Authority:
    """A certificate authority; `ca` is the file that a client has to trust."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority = trustme.CA()
        self.ca = folder / "ca.pem"
        self._authority.cert_pem.write_to_path(str(self.ca))

    def issue(self, *names: str, expired: bool = False) -> Certificate:
        """A certificate for these host names; by default for loopback."""
        names = names or ("localhost", "127.0.0.1", "::1")
        issued = self._authority.issue_cert(*names, not_after=LONG_AGO if expired else None)
        stem = f"{'expired' if expired else 'valid'}-{names[0]}"
        certificate = Certificate(self._folder / f"{stem}.pem", self._folder / f"{stem}.key")
        certificate.chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        certificate.key.write_bytes(issued.private_key_pem.bytes())
        return certificate
