/**
 * Sends a request to a port of a sandbox, and shows the answer as text: no page of a sandbox runs here. Links to the
 * ports' own pages, if the router gives sandboxes hosts of their own. @module
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { getFrom, type InsideProps } from "./inside.tsx";
import { WithCommands } from "./parts.tsx";
import type { Previews } from "./session.ts";

/** Most characters of an answer that are shown. */
const MAX_CHARACTERS = 20_000;

/** A label of a host name has at most so many characters. */
const MOST_OF_LABEL = 63;

/**
 * Returns the address of a port's own page; undefined: there can be no such host. Pure.
 *
 * @param domain the router's option `--domain`
 */
export function previewOf(
  { namespace, sandbox }: Pick<InsideProps, "namespace" | "sandbox">,
  port: string,
  path: string,
  { domain, origin }: { domain: string; origin: string },
): string | undefined {
  const label = `${port}-${sandbox}-${namespace}`;
  if (label.length > MOST_OF_LABEL || label.includes(".")) return undefined;
  const router = new URL(origin);
  // Whatever is typed as the path, it names no other host, and can always be read.
  const { pathname, search } = new URL(`/${path.replace(/^[/\\]+/, "")}`, origin);
  return `${router.protocol}//${label}.${domain}${router.port && `:${router.port}`}${pathname}${search}`;
}

interface PortsProps extends InsideProps {
  /** Ports that the Pod declares. */
  known: readonly { port: number; name: string | undefined }[];
  previews: Previews | undefined;
}

/** A form that requests a path from a port. */
export function Ports({ known, previews, ...inside }: PortsProps) {
  const [typed, setPort] = useState<string>();
  // The Pod's ports may be known only later, but what the user has begun to edit stays.
  const port = typed ?? String(known[0]?.port ?? 8080);
  const [path, setPath] = useState("/");
  const [answer, setAnswer] = useState<{ head: string; text: string }>();
  const [sending, setSending] = useState<AbortController>();
  const latest = useRef(sending);
  latest.current = sending;
  useEffect(() => () => latest.current?.abort(), []);
  const send = async () => {
    const ending = new AbortController();
    setSending(ending);
    const shown = { head: "No answer", text: "" };
    try {
      const url = new URL(path, location.origin);
      const response = await getFrom(inside, port, url.pathname + url.search, ending.signal);
      const type = response.headers.get("content-type") ?? "no content type";
      shown.head = headOf(response, type);
      for await (const text of textsOf(response, type)) setAnswer({ ...shown, text: shown.text = text });
    } catch (error) {
      shown.text += ending.signal.aborted ? "\n(cancelled)" : String(error);
    }
    setAnswer(shown);
    setSending(undefined);
  };
  return (
    <>
      <form
        class="actions"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label>
          Port
          <input
            type="number"
            min={1}
            max={65535}
            required
            list="ports"
            value={port}
            onFocus={() => setPort(port)}
            onInput={({ currentTarget }) => setPort(currentTarget.value)}
          />
        </label>
        <label>
          Path <input type="text" value={path} onInput={({ currentTarget }) => setPath(currentTarget.value)} />
        </label>
        <datalist id="ports">
          {known.map(({ port, name }) => <option key={port} value={port}>{name}</option>)}
        </datalist>
        <button type="submit" disabled={sending !== undefined}>Send GET</button>
        {sending && <button type="button" onClick={() => sending.abort()}>Cancel</button>}
      </form>
      {port !== "" && <Preview {...{ inside, port, path, previews }} />}
      {answer && (
        <section aria-label="Answer">
          <p>{answer.head}</p>
          <pre>{answer.text}</pre>
        </section>
      )}
    </>
  );
}

interface PreviewProps {
  inside: InsideProps;
  port: string;
  path: string;
  previews: Previews | undefined;
}

/**
 * Links to the port's own page if a browser can open it, otherwise shows the command that can. The link contains no
 * token: addresses are kept in histories and logs.
 */
function Preview({ inside, port, path, previews }: PreviewProps) {
  const { namespace, sandbox } = inside;
  const { isOpen = false, tokenParameter } = previews ?? {};
  const address = previews && previewOf(inside, port, path, { ...previews, origin: location.origin });
  if (address === undefined || !(isOpen || tokenParameter !== undefined)) {
    const why = address === undefined ? "" : "The router lets no browser open pages of sandboxes. ";
    return (
      <p class="faint">
        <WithCommands text={`${why}To open the port in a browser on your machine, run ${commandFor(inside, port)}.`} />
      </p>
    );
  }
  return (
    <>
      <p>
        <a href={address} target="_blank" rel="noopener noreferrer">Open preview</a>
      </p>
      {!isOpen && (
        <p class="faint">
          The router asks for a token. For the first visit, add <code>?{tokenParameter}=TOKEN</code>{" "}
          to the address; the browser then keeps it in a cookie for this page. Use a token that may do nothing else than
          {" "}
          <code>connect</code> to sandbox {sandbox} in {namespace}.
        </p>
      )}
    </>
  );
}

function commandFor({ namespace, sandbox }: InsideProps, port: string): string {
  return `hookbox open ${sandbox} ${port} -n ${namespace}`;
}

function headOf({ status, statusText, type }: Response, contentType: string): string {
  // Browsers do not reveal where a redirect leads.
  if (type === "opaqueredirect") return "Redirected to another address";
  return `${status} ${statusText}`.trim() + `, ${contentType}`;
}

/** Reads the beginning of an answer, if it is text. Yields all that has arrived so far: an answer may never end. */
async function* textsOf({ body }: Response, contentType: string): AsyncGenerator<string> {
  if (body === null) return;
  if (!/^text\/|json|xml|javascript/.test(contentType)) {
    await body.cancel();
    return yield "(not text)";
  }
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (let text = "";;) {
    yield text;
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    if (text.length > MAX_CHARACTERS) {
      await reader.cancel();
      return yield `${text.slice(0, MAX_CHARACTERS)}\n(and more)`;
    }
    if (done) return yield text;
  }
}
