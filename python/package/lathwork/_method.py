# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Signatures of the methods that lathwork._core has."""
import re

from . import _core

_NATIVE = type(_core.Map.clear)


def described(kind):
    """A decorator of classes: inspect.signature() and help() know the public methods of lathwork._core too."""
    for base in kind.__mro__[1:]:
        if base.__module__ != _core.__name__:
            continue
        for name, method in vars(base).items():
            if type(method) is not _NATIVE or name.startswith("_") or name in vars(kind):
                continue
            said, _, text = method.__doc__.partition("\n\n")
            arguments = said[said.index("(") + 1 : said.rindex(") ->")]
            arguments = re.sub(r": [^,=]*[^,= ]", "", arguments).replace("self", "$self", 1)
            setattr(kind, name, _core.Method(method, name, text, f"({arguments.replace(' = ', '=')})"))
    return kind
