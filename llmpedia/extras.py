"""Optional parts of the package: named in one line where they are not installed."""

import importlib.util

from llmpedia.errors import ConfigError

_MODULES = {
    "audit": ("httpx", "mwparserfromhell", "trafilatura", "resiliparse", "scipy", "sklearn", "protego"),
    "report": ("matplotlib", "scipy", "sklearn", "statsmodels", "jinja2", "mwparserfromhell"),
    "probe": (
        "spacy",
        "fasttext",
        "datasketch",
        "fastwarc",
        "resiliparse",
        "scipy",
        "statsmodels",
        "matplotlib",
        "jinja2",
        "text_to_num",
    ),
    "site": ("fastapi", "uvicorn", "jinja2", "nh3", "mwparserfromhell", "phonenumbers", "stdnum", "pagefind_bin"),
}


def need_extra(extra: str) -> None:
    """Raise unless the packages of an extra are there.

    Raises:
        ConfigError: naming what is missing and how to install it.
    """
    missing = [name for name in _MODULES[extra] if importlib.util.find_spec(name) is None]
    if missing:
        lacking = f"package {missing[0]} is" if len(missing) == 1 else f"packages {', '.join(missing)} are"
        raise ConfigError(f'{extra}: {lacking} not installed; in this repository: pip install -c constraints.txt ".[{extra}]"')
