/** What values look like by MIME type: Python's protocols, figures, and JavaScript's. @module */
import { expect, test } from "vitest";
import "../../eventually.ts";
import { aClient } from "./running.ts";

test("Python's values come in every form that they have", async () => {
  const { run } = await aClient();
  const forms = `class Shown:
    def __repr__(self): return "shown"
    def _repr_html_(self): return "<b>"
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_json_(self): return {"a": [1, float("nan")]}
    def _repr_mimebundle_(self, include, exclude): return {"text/x-own": "own"}
class DataFrame:
    def __repr__(self): return "table"
    def to_dict(self, orient): return {("a", 1): [1, 2]}
display(Shown(), 3)
DataFrame()`;
  const [shown, three, table] = (await run(forms)).results;
  expect(shown).toMatchObject({ text: "shown", html: "<b>", isMainResult: false, extra: { "text/x-own": "own" } });
  expect(shown?.png).toEqual(new Uint8Array([0x89, 0x50, 0x4e, 0x47]));
  expect(shown?.json?.kind).toMatchObject({ case: "structValue" });
  expect(three).toMatchObject({ text: "3", isMainResult: false });
  expect(table).toMatchObject({ text: "table", isMainResult: true, data: { kind: { case: "structValue" } } });
});

/** As much of matplotlib as the interpreter asks for: it need not be there. */
const FIGURES = `import sys, types
class Figure:
    def __init__(self, number): self.number = number
    def __repr__(self): return f"figure {self.number}"
    def savefig(self, file, **_): file.write(b"PNG%d" % self.number)
    def get_children(self): return ["background", "axes"]
plt = types.ModuleType("matplotlib.pyplot")
open_figures = {}
plt.figure = lambda number: open_figures.setdefault(number, Figure(number))
plt.get_fignums = lambda: list(open_figures)
plt.close = lambda figure: open_figures.pop(figure.number)
sys.modules["matplotlib.pyplot"] = plt`;

test("figures that are open at the end are shown and closed; the last value is the main result", async () => {
  const { run } = await aClient();
  await run(FIGURES);
  const shown = await run("plt.figure(1); plt.figure(2)");
  expect(shown.results.map(({ text, png, isMainResult }) => [text, String.fromCharCode(...png ?? []), isMainResult]))
    .toEqual(
      [["figure 1", "PNG1", false], ["figure 2", "PNG2", true]],
    );
  expect(await run("None")).toMatchObject({ results: [] });
});

test("JavaScript's values may say how they are shown", async () => {
  const { run } = await aClient();
  const code =
    `display(1); ({ [Symbol.for("Jupyter.display")]: () => ({ "text/html": "<b>", "image/png": new Uint8Array([1, 2]) }) })`;
  const { results } = await run(code, { language: "javascript" });
  expect(results).toMatchObject([{ text: "1", isMainResult: false }, { html: "<b>", isMainResult: true }]);
  expect(results[1]?.png).toEqual(new Uint8Array([1, 2]));
});
