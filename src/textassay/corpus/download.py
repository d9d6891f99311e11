"""Download a web address into the user's cache, only on request; copies of other addresses live as long as the run."""

import atexit
import os
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import unquote, urlsplit

from textassay.addresses import fetch, place_of
from textassay.errors import InputError

_TIMEOUT = 30  # seconds without an answer


def is_url(source: object) -> bool:
    """Return whether `source` is an http or https address."""
    return isinstance(source, str) and source.lower().startswith(("http://", "https://"))


def download(url: str) -> Path:
    """Return the local copy of the file at `url`, downloaded unless it is cached."""
    import hashlib
    import logging

    import pooch
    import requests

    name = Path(unquote(urlsplit(url).path)).name or "download.txt"
    folder = Path(pooch.os_cache("textassay")) / hashlib.sha256(url.encode()).hexdigest()[:16]
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        path = pooch.retrieve(
            url,
            known_hash=None,
            fname=name,
            path=folder,
            downloader=pooch.HTTPDownloader(progressbar=False, timeout=_TIMEOUT),
        )
    except (requests.RequestException, OSError) as error:
        response = getattr(error, "response", None)
        reason = type(error).__name__
        if response is not None:
            reason = f"{response.status_code} {response.reason}"
            response.close()
        raise InputError(f"{url} cannot be downloaded ({reason}); check the address and the network") from None
    finally:
        logger.setLevel(level)
    return Path(path)


def local_file(source: str | os.PathLike[str]) -> Path:
    """Return the path of a file or folder, of its download, or of a copy, removed at exit, of what is at an address."""
    if is_url(source):
        return download(str(source))
    place = place_of(source)
    return place if isinstance(place, Path) else fetch(place, Path(mkdtemp(dir=_copies())))


@cache
def _copies() -> str:
    folder = mkdtemp(prefix="textassay-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
