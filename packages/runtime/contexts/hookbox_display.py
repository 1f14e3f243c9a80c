"""Forms of a value by MIME type, as JSON; it must not send them. Imported once, under a name that no one else has."""

import base64
import inspect
import json
import math
import traceback

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
        return json.dumps(event, allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps(plain(event))


def plain(value):
    """The nearest thing that JSON has: no NaN, names that are strings, numpy's numbers as numbers."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
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
    if type(value).__name__ == "DataFrame" and callable(getattr(value, "to_dict", None)):
        forms.setdefault("application/vnd.hookbox.data+json", value.to_dict(orient="list"))
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
