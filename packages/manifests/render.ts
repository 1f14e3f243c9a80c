/** Renders the YAML stream that installs hookbox's APIs and controllers. @module */
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";

/** Each URL is a literal, so that a bundler finds the files. */
const CONTROLLERS = [
  new URL("../../compositecontrollers/sandbox.yaml", import.meta.url),
  new URL("../../compositecontrollers/sandboxwarmpool.yaml", import.meta.url),
  new URL("../../decoratorcontrollers/sandboxclaim.yaml", import.meta.url),
  new URL("../../decoratorcontrollers/sandboxtemplate.yaml", import.meta.url),
];
const CRDS = [
  new URL("../../crds/agents.x-k8s.io_sandboxes.yaml", import.meta.url),
  new URL("../../crds/extensions.agents.x-k8s.io_sandboxclaims.yaml", import.meta.url),
  new URL("../../crds/extensions.agents.x-k8s.io_sandboxtemplates.yaml", import.meta.url),
  new URL("../../crds/extensions.agents.x-k8s.io_sandboxwarmpools.yaml", import.meta.url),
];

/**
 * Renders CRDs, then controllers, in order of file names.
 *
 * @param hooksURL base URL of the hooks: hook `h` is at `<hooksURL>/h/sync`. A function returns a base URL for each
 * hook; undefined keeps the URLs in the files
 * @param withCRDs false: only the controllers
 * @throws {RangeError} if `hooksURL` is not an absolute http or https URL
 */
export function renderManifests(
  hooksURL: string | ((hook: string) => string) | undefined,
  withCRDs = true,
): string {
  const base = typeof hooksURL === "string" ? () => hooksURL : hooksURL;
  const controllers = readControllers().map((text) => pointed(text, base));
  return [...withCRDs ? readCRDs() : [], ...controllers].map((text) => text.startsWith("---") ? text : `---\n${text}`)
    .join("");
}

/** Reads hookbox's controllers, one text for each, as they are in the files. */
export function readControllers(): string[] {
  return CONTROLLERS.map((file) => readFileSync(file, "utf8"));
}

/** Reads hookbox's CRDs, one text for each. */
export function readCRDs(): string[] {
  return CRDS.map((file) => readFileSync(file, "utf8"));
}

/** Sets the URL of every hook of a controller; undefined: the text is unchanged. */
function pointed(text: string, base: ((hook: string) => string) | undefined): string {
  if (base === undefined) return text;
  return parseAllDocuments(text).map((document) => {
    const name = String(document.getIn(["metadata", "name"]));
    for (const endpoint of ["sync", "customize", "finalize"]) {
      const webhook = ["spec", "hooks", endpoint, "webhook"];
      if (document.hasIn(webhook)) document.setIn([...webhook, "url"], `${baseURL(base(name))}/${name}/${endpoint}`);
    }
    return document.toString({ lineWidth: 0 });
  }).join("---\n");
}

function baseURL(text: string): string {
  const url = URL.parse(text);
  if (!url || !["http:", "https:"].includes(url.protocol)) {
    throw new RangeError(`Cannot use hooks URL "${text}": it is not an absolute http or https URL`);
  }
  return url.href.replace(/\/+$/, "");
}
