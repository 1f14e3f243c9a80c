"""Converts values to forms by MIME type, as JSON. Its module name is unique, so that users' modules cannot replace it."""

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
    """Returns the nearest value that JSON can express: without NaN, with text keys, numpy's numbers as numbers, and times in
    ISO 8601."""
    if isinstance(value, dict):
        return dict(zip(unique(value), map(plain, value.values())))
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if type(value).__name__ in ("NaTType", "NAType", "MaskedConstant"):
        return None
    if type(value).__name__ == "datetime64":
        # Its smallest units have no other type in Python.
        value = value.astype("datetime64[us]").item()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    try:
        return plain(value.item())
    except Exception:
        return str(value)


def unique(names):
    """Returns unique texts of the names: the second "a" becomes "a.1", as in pandas when it reads equal column names."""
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
    """Returns the columns of a DataFrame by name, or None if it is too large or unknown. In pandas, names can be equal."""
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
    """Returns whether text is the only form."""
    return set(forms) == {"text/plain"}


def encoded(mime, value):
    return base64.b64encode(value).decode() if isinstance(value, (bytes, bytearray)) and mime else value


def bundle(value):
    """Returns all forms of a value by MIME type. A form that fails is left out."""
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
    # A class also has the method, but unbound. And some objects return something for every attribute name.
    if inspect.isclass(value) or not callable(getattr(type(value), method, None)):
        return None
    try:
        return getattr(value, method)(**arguments)
    except NotImplementedError:
        return None
    except Exception:
        traceback.print_exc()
        return None
