/** Output that libraries show themselves. The libraries are small copies with the parts that the kernel uses. @module */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { Result } from "../../../packages/runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { aClient } from "./running.ts";

const LIBRARIES: Record<string, string> = {
  "matplotlib/__init__.py": `import os
rcParams = {"backend": os.environ.get("MPLBACKEND", "auto")}
def use(name): rcParams["backend"] = name`,
  "matplotlib/backends/__init__.py": "",
  "matplotlib/backends/backend_agg.py": "class FigureCanvasAgg: pass\nclass FigureManagerBase: pass",
  "matplotlib/pyplot.py": `import importlib, matplotlib
class Figure:
    def __init__(self, number): self.number, self.drawn = number, []
    def __repr__(self): return f"figure {self.number}"
    def savefig(self, file, **_): file.write(b"PNG")
    def get_children(self): return ["background"] + self.drawn
    def show(self):
        name = get_backend()
        if not name.startswith("module://"): return
        manager = importlib.import_module(name[9:]).FigureManager()
        manager.canvas = type("Canvas", (), {"figure": self})
        manager.show()
figures = {}
def get_backend(): return matplotlib.rcParams["backend"]
def figure(number): return figures.setdefault(number, Figure(number))
def get_fignums(): return list(figures)
def close(figure): figures.pop(figure.number, None)
def plot(number): figure(number).drawn.append("line")
def show():
    name = get_backend()
    if name.startswith("module://"): importlib.import_module(name[9:]).show()`,
  "IPython/__init__.py": "",
  "IPython/core/__init__.py": "",
  "IPython/core/display_functions.py": `def display(*objs, **_): print(*objs)
def publish_display_data(data): print(data)
def update_display(obj, **_): print(obj)
def clear_output(wait=False): print("cleared")`,
  "IPython/display.py": `from IPython.core.display_functions import *
class HTML:
    def __init__(self, data): self.data = data
    def _repr_html_(self): return self.data`,
  "plotly/__init__.py": "",
  "plotly/graph_objects.py": `class Figure:
    def __init__(self, data=None): self.data = data
    def to_html(self): return "<figure>"
    def _repr_html_(self): return self.to_html()
    def show(self, *args, **options):
        import plotly.io
        return plotly.io.show(self, *args, **options)`,
  "plotly/io/__init__.py": "from ._renderers import renderers, show",
  "plotly/io/_renderers.py": `class renderers:
    default = "browser"
    def _build_mime_bundle(fig, renderers_string, **_): return {"image/" + renderers_string: b"IMAGE"}
def validate_coerce_fig_to_dict(fig, validate): return fig
def show(fig, renderer=None, validate=True, **_): raise ValueError("no browser")`,
  "PIL/__init__.py": "",
  "PIL/ImageShow.py": `viewers = []
class Viewer: pass
def register(viewer, order): viewers.insert(0, viewer())
def show(image): return any(viewer.show(image) for viewer in viewers)`,
};

async function withLibraries() {
  const client = await aClient();
  for (const [path, text] of Object.entries(LIBRARIES)) {
    const file = join(client.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return client;
}

const FORMS = ["text", "html", "markdown", "svg", "png", "jpeg"] as const;
const formsOf = (result: Result) => FORMS.filter((form) => result[form] !== undefined).join("+");

const PLOT = "import matplotlib\nimport matplotlib.pyplot as plt\n";
const CASES: [string, string[], string][] = [
  [`${PLOT}plt.plot(1); plt.show(); print('after')`, ["text+png"], "after\n"],
  [`${PLOT}for i in range(3): plt.plot(i); plt.show()`, ["text+png", "text+png", "text+png"], ""],
  // A figure that is open at the end is shown anyhow: here only show() can have shown it.
  [`${PLOT}plt.plot(1); plt.show(); plt.close(plt.figure(1))`, ["text+png"], ""],
  [`${PLOT}plt.plot(1); plt.figure(1).show(); plt.close(plt.figure(1))`, ["text+png"], ""],
  [`${PLOT}matplotlib.use('Agg'); plt.plot(1); plt.show(); plt.close(plt.figure(1))`, ["text+png"], ""],
  [`${PLOT}plt.plot(1); plt.show(); plt.figure(1); None`, ["text+png"], ""],
  [`${PLOT}plt.plot(1); plt.plot(2); display(plt.figure(1))`, ["text+png", "text+png"], ""],
  [`${PLOT}plt.plot(1); f = plt.figure(1); plt.close(f); display(f); f`, ["text+png", "text+png"], ""],
  [`${PLOT}plt.plot(1); display(plt.figure(1)); plt.figure(1)`, ["text+png", "text+png"], ""],
  [`${PLOT}import os, subprocess; subprocess.run([ 'sh', '-c', 'echo $MPLBACKEND'])\nNone`, [], "Agg\n"],
  ["from IPython.display import display as d, HTML\nd(HTML('<b>'), 3)", ["text+html", "text"], ""],
  ["from IPython.display import *\npublish_display_data({'text/markdown': '#'}); clear_output()", ["markdown"], ""],
  ["from IPython.display import display, HTML\nh = display(HTML('a'), display_id=True)\nh.update(HTML('b'))", [
    "text+html",
    "text+html",
  ], ""],
  ["import plotly.graph_objects as go\ngo.Figure().show()", ["text+html"], ""],
  ["import plotly.io\nplotly.io.show({'data': []})", ["text+html"], ""],
  ["import plotly.graph_objects as go\ngo.Figure().show('png')", ["png"], ""],
  ["from PIL import ImageShow\nclass I:\n    def _repr_png_(self): return b'PNG'\nImageShow.show(I())", [
    "text+png",
    "text",
  ], ""],
  ["class I:\n    def _ipython_display_(self): print('by itself')\nI()", ["text"], "by itself\n"],
];

test("what libraries show by functions of their own is shown", async () => {
  const { run, client } = await withLibraries();
  // As the agent image sets it.
  const { context } = await client.createContext({ envVars: { MPLBACKEND: "Agg" } });
  for (const [code, forms, stdout] of CASES) {
    const ran = await run(code, { contextId: context?.contextId ?? "" });
    expect(ran, code).toMatchObject({ error: "", stderr: "", stdout });
    expect(ran.results.map(formsOf), code).toEqual(forms);
  }
});

test("a table has all its columns, also those that have one name", async () => {
  const { run } = await aClient();
  const frame = `class Column:
    def __init__(self, values): self.values = values
    def tolist(self): return self.values
class At:
    def __init__(self, columns): self.columns = columns
    def __getitem__(self, at): return Column(self.columns[at[1]])
class DataFrame:
    columns = ["a", "a", 1, "1", "a.1"]
    iloc = At([[1], [2], [3], [4], [5]])
DataFrame()`;
  const { results: [table] } = await run(frame);
  const value = table?.data?.kind;
  const names = value?.case === "structValue" ? Object.keys(value.value.fields) : [];
  expect(names.sort()).toEqual(["1", "1.1", "a", "a.1", "a.2"]);
});
