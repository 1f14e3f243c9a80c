"""Makes matplotlib, IPython.display, plotly and Pillow show their output as results of code, without importing them.

`install` adds an import hook, which changes each library right after the library has been imported.
"""

import functools
import importlib.abc
import importlib.machinery
import io
import os
import sys
import types
import weakref

from hookbox_display import bundle, encoded, is_plain

BACKEND = "hookbox_matplotlib"
CHARTS = "hookbox_charts"
#: Backends of matplotlib that draw but cannot show anything.
HEADLESS = {"agg", "cairo", "pdf", "pgf", "ps", "svg", "template"}
#: Renderers of plotly that make an image.
STATIC = {"png", "jpeg", "jpg", "svg", "pdf"}

send = None
#: Figures that display() has shown in the current run. They are not shown once more at its end.
displayed = weakref.WeakSet()


def install(sender):
    """Installs the import hook. `sender` is called with `result` and `main` for each shown value."""
    global send
    send = sender
    sys.meta_path.insert(0, Changes())


class Shown:
    """The handle that display() returns for a `display_id`. An update shows the new value as another result."""

    def __init__(self, display_id):
        self.display_id = display_id

    def display(self, value, **_):
        display(value)

    update = display


def display(*values, raw=False, include=None, exclude=None, display_id=None, **_):
    """Shows values in every form that they have; with raw=True they are dicts by MIME type."""
    for value in values:
        forms = {m: encoded(m, v) for m, v in value.items()} if raw else forms_of(value)
        if forms is None:
            continue
        kept = {m: v for m, v in forms.items() if (not include or m in include) and m not in (exclude or ())}
        send(result=kept, main=False)
    return Shown(display_id) if display_id else None


def display_main(value):
    """Shows the value of the last expression."""
    forms = forms_of(value)
    send(result={"text/plain": repr(value)} if forms is None else forms, main=True)


def forms_of(value):
    """All forms of a value. None: the value has shown itself by `_ipython_display_`, as in IPython."""
    if is_figure(value):
        displayed.add(value)
        return figure_forms(value)
    forms = bundle(value)
    if is_plain(forms) and callable(getattr(type(value), "_ipython_display_", None)):
        value._ipython_display_()
        return None
    return forms


def show_figures(*_, last=None, **__):
    """Shows and closes matplotlib's open figures. If the last value is a figure, that figure is the main result."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if pyplot else []:
        show_figure(pyplot.figure(number), last)


def show_rest(last):
    """Shows and closes the figures that are open at the end of a run."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    for figure in list(displayed) if pyplot else []:
        if figure is not last:
            pyplot.close(figure)
    displayed.clear()
    show_figures(last=last)


def is_figure(value):
    return any(one.__name__ == "Figure" and one.__module__.startswith("matplotlib.") for one in type(value).__mro__)


def show_figure(figure, last=None):
    # An empty figure has only its background. plt.clf() after show() leaves such a figure.
    if figure is last or len(figure.get_children()) > 1:
        send(result=figure_forms(figure), main=figure is last)
    sys.modules["matplotlib.pyplot"].close(figure)


def charts():
    """hookbox_charts, which is loaded with the first figure, so that interpreters start fast."""
    module = sys.modules.get(CHARTS)
    if module is None:
        # Its folder is not in sys.path, so that users' modules cannot be hidden.
        path = os.path.join(os.path.dirname(__file__), f"{CHARTS}.py")
        module = sys.modules[CHARTS] = types.ModuleType(CHARTS)
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), module.__dict__)
    return module


def figure_forms(figure):
    png = io.BytesIO()
    figure.savefig(png, format="png", bbox_inches="tight")
    forms = {"text/plain": repr(figure), "image/png": encoded("image/png", png.getvalue())}
    try:
        chart = charts().chart_of(figure)
    except Exception:
        # The code does not fit this version of matplotlib, or one of its extensions. The image shows everything.
        chart = None
    return forms if chart is None else {**forms, "application/vnd.hookbox.chart+json": chart}


def is_open_figure(value):
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot is not None and any(pyplot.figure(number) is value for number in pyplot.get_fignums())


def make_backend(module):
    """Makes a module a backend of matplotlib whose show() sends figures as results."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg, FigureManagerBase

    class FigureManager(FigureManagerBase):
        def show(self):
            show_figure(self.canvas.figure)

    class FigureCanvas(FigureCanvasAgg):
        manager_class = FigureManager

    module.FigureCanvas, module.FigureManager, module.show = FigureCanvas, FigureManager, show_figures


def change_matplotlib(matplotlib):
    # Not by MPLBACKEND: child processes would inherit the variable, but do not have this module.
    named = os.environ.get("MPLBACKEND", "").lower()
    if not named or named in HEADLESS or "inline" in named:
        matplotlib.rcParams["backend"] = f"module://{BACKEND}"


def change_axes(module):
    draw = module.Axes.bxp

    @functools.wraps(draw)
    def bxp(axes, boxes, *args, **options):
        artists = draw(axes, boxes, *args, **options)
        is_turned = options.get("orientation") == "horizontal" or options.get("vert") is False
        charts().keep_boxes(axes, boxes, artists["medians"], is_turned)
        return artists

    module.Axes.bxp = bxp


def change_pyplot(pyplot):
    shows = pyplot.show

    @functools.wraps(shows)
    def show(*args, **options):
        # Code may have chosen a backend that cannot show, by matplotlib.use().
        return show_figures() if pyplot.get_backend().lower() in HEADLESS else shows(*args, **options)

    pyplot.show = show


def change_ipython(module):
    """Replaces IPython's display functions, which need an IPython shell."""
    ours = {
        "display": display,
        "update_display": display,
        "publish_display_data": lambda data, *_, **__: display(data, raw=True),
        "clear_output": lambda *_, **__: None,
    }
    for name, function in ours.items():
        if getattr(getattr(module, name, None), "__module__", None) == module.__name__:
            setattr(module, name, function)


def change_plotly(module):
    @functools.wraps(module.show)
    def show(fig, renderer=None, validate=True, **options):
        wanted = renderer or module.renderers.default or ""
        if wanted and STATIC.issuperset(wanted.split("+")):
            forms = module.renderers._build_mime_bundle(module.validate_coerce_fig_to_dict(fig, validate), wanted, **options)
            return display(forms, raw=True)
        if not hasattr(fig, "to_html"):
            from plotly.graph_objects import Figure

            fig = Figure(fig)
        display(fig)

    module.show = show


def change_pillow(module):
    class Viewer(module.Viewer):
        def show(self, image, **_):
            display(image)
            return True

    module.register(Viewer, 0)


CHANGES = {
    "matplotlib": change_matplotlib,
    "matplotlib.axes._axes": change_axes,
    "matplotlib.pyplot": change_pyplot,
    "IPython.core.display": change_ipython,
    "IPython.core.display_functions": change_ipython,
    "plotly.io._renderers": change_plotly,
    "PIL.ImageShow": change_pillow,
}


class Changes(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets other finders find a module, and changes the module after it was loaded. Also provides matplotlib's backend."""

    def find_spec(self, name, path=None, target=None):
        if name == BACKEND:
            return importlib.machinery.ModuleSpec(name, self)
        if name not in CHANGES:
            return None
        others = (one for one in sys.meta_path if one is not self and hasattr(one, "find_spec"))
        spec = next(filter(None, (one.find_spec(name, path, target) for one in others)), None)
        if spec and spec.loader:
            load = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (load(module), change(module))
        return spec

    def exec_module(self, module):
        make_backend(module)


def change(module):
    try:
        CHANGES[module.__name__](module)
    except Exception as error:
        # The code does not fit this version of the library. The library stays unchanged.
        print(f"Cannot show output of {module.__name__}: {error!r}", file=sys.stderr)
