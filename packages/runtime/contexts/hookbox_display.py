"""Forms of a value by MIME type, as JSON; it must not send them. Imported once, under a name that no one else has."""

import base64
import inspect
import math
import traceback
from json import dumps

#: The largest table, in cells, that is sent as data in addition to HTML.
MOST_CELLS = 200_000
BINARY = ("image/png", "image/jpeg", "application/pdf")
REPRESENTATIONS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_pdf_": "application/pdf",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
    "_repr_javascript_": "application/javascript",
}


def as_json(event):
    try:
        return dumps(event, allow_nan=False)
    except (TypeError, ValueError):
        return dumps(plain(event))


def plain(value):
    """The nearest thing that JSON has: no NaN, names that are strings, numpy's numbers as numbers."""
    if isinstance(value, dict):
        return dict(zip(unique(value), map(plain, value.values())))
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    try:
        return plain(value.item())
    except Exception:
        return str(value)


def unique(names):
    """The names as unique texts: the second "a" becomes "a.1", as when pandas reads a table with equal names."""
    texts = [str(name) for name in names]
    taken, used = set(texts), {}
    for text in texts:
        name, count = text, 0
        while name in used or (count and name in taken):
            count += 1
            name = f"{text}.{count}"
        used[name] = True
    return list(used)


def table(frame):
    """The columns of a DataFrame by name. In pandas two columns can have the same name. None: too large, or unknown type."""
    try:
        if getattr(frame, "size", 0) > MOST_CELLS:
            return None
        if not hasattr(frame, "iloc"):
            return frame.to_dict(orient="list")
        columns = [frame.iloc[:, at].tolist() for at in range(len(frame.columns))]
        return dict(zip(unique(frame.columns), columns))
    except (AttributeError, TypeError):
        return None


def is_plain(forms):
    """Whether text is the only form."""
    return set(forms) == {"text/plain"}


def encoded(mime, value):
    return base64.b64encode(value).decode() if isinstance(value, (bytes, bytearray)) and mime else value


def bundle(value):
    """All forms of a value, by MIME type; one that fails is left out."""
    forms = {}
    whole = representation(value, "_repr_mimebundle_", include=None, exclude=None)
    if isinstance(whole, tuple):
        whole = whole[0]
    if isinstance(whole, dict):
        forms.update(whole)
    for method, mime in REPRESENTATIONS.items():
        form = representation(value, method)
        if isinstance(form, tuple):
            form = form[0]
        if form is not None:
            forms.setdefault(mime, form)
    data = table(value) if type(value).__name__ == "DataFrame" else None
    if data is not None:
        forms.setdefault("application/vnd.hookbox.data+json", data)
    forms.setdefault("text/plain", repr(value))
    return {mime: encoded(mime, form) for mime, form in forms.items()}


def representation(value, method, **arguments):
    # A class has the method too, but unbound; and some objects have every attribute that is asked for.
    if inspect.isclass(value) or not callable(getattr(type(value), method, None)):
        return None
    try:
        return getattr(value, method)(**arguments)
    except NotImplementedError:
        return None
    except Exception:
        traceback.print_exc()
        return None
