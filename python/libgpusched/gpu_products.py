"""Which model of the catalogue a product name of NVIDIA's or AMD's tools means.

The rule: without "NVIDIA", "Tesla" and "AMD", with dashes for spaces, the name of a model, capital
letters aside. Names that the rule can't read are in a table.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from libgpusched._core import models

# In lower case, without the maker, with dashes.
_OTHERWISE_NAMED = {
    "a100-pcie-40gb": "A100-PCIe-40GB",
    "a100-80gb-pcie": "A100-PCIe-80GB",
    "h100-80gb-hbm3": "H100-SXM5-80GB",
    "h100-pcie": "H100-PCIe-80GB",
    "h100-nvl": "H100-NVL-94GB",
    "h200": "H200-SXM-141GB",
    "h800": "H800-SXM5-80GB",
    "gh200-480gb": "GH200-96GB",
    "b200": "B200-SXM-180GB",
    "instinct-mi250x-oam": "MI250X",
    "instinct-mi300x-oam": "MI300X",
    "instinct-mi250x": "MI250X",
    "instinct-mi300x": "MI300X",
}
_MAKERS = re.compile(r"^(?:(?:nvidia|tesla|amd)-)+")


def model_of(product: str, names: Mapping[str, str]) -> str | None:
    """The model, by the caller's own names first; None if nobody knows the product."""
    if product in names:
        return names[product]
    return _known().get(_short(product)) or _OTHERWISE_NAMED.get(_short(product))


def remedy_for(product: str) -> str:
    """What to do about a product that nobody knows."""
    near = difflib.get_close_matches(_short(product), _known(), n=1, cutoff=0.4)
    hint = f"the nearest model is '{_known()[near[0]]}'; " if near else ""
    return (
        f"{hint}say which it is with model_names={{'{product}': 'a model of the catalogue, or an "
        "opaque one'}"
    )


def _short(product: str) -> str:
    """Without the maker, with dashes, in lower case."""
    return _MAKERS.sub("", re.sub(r"[\s_]+", "-", product.strip()).lower())


def _known() -> dict[str, str]:
    return {name.lower(): name for name in models()}
