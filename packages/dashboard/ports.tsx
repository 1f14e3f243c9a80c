/**
 * Sends a request to a port of a sandbox, and shows the answer as text: no page of a sandbox runs here. Links to the
 * ports' own pages, if the router gives sandboxes hosts of their own. @module
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { getFrom, type InsideProps } from "./inside.tsx";

/** Most characters of an answer that are shown. */
const MAX_CHARACTERS = 20_000;

/** Returns the address of a port's own page. Pure. @param domain the router's option `--domain` */
export function previewOf(
  { namespace, sandbox }: Pick<InsideProps, "namespace" | "sandbox">,
  port: string,
  path: string,
  { domain, origin }: { domain: string; origin: string },
): string {
  const address = new URL(path, origin);
  const own = domain.includes(":") || address.port === "" ? domain : `${domain}:${address.port}`;
  return `${address.protocol}//${port}-${sandbox}-${namespace}.${own}${address.pathname}${address.search}`;
}

interface PortsProps extends InsideProps {
  /** Ports that the Pod declares. */
  known: readonly { port: number; name: string | undefined }[];
  /** The router's option `--domain`; undefined: sandboxes have no hosts of their own. */
  domain: string | undefined;
}

/** A form that requests a path from a port. */
export function Ports({ known, domain, ...inside }: PortsProps) {
  const [port, setPort] = useState(String(known[0]?.port ?? 8080));
  const [path, setPath] = useState("/");
  const [answer, setAnswer] = useState<{ head: string; text: string }>();
  const [isSending, setSending] = useState(false);
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  const send = async () => {
    setSending(true);
    try {
      const url = new URL(path, location.origin);
      const response = await getFrom(inside, port, url.pathname + url.search, ending.current.signal);
      const type = response.headers.get("content-type") ?? "no content type";
      setAnswer({ head: headOf(response, type), text: await textOf(response, type) });
    } catch (error) {
      setAnswer({ head: "No answer", text: String(error) });
    }
    setSending(false);
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
            onInput={({ currentTarget }) => setPort(currentTarget.value)}
          />
        </label>
        <label>
          Path <input type="text" value={path} onInput={({ currentTarget }) => setPath(currentTarget.value)} />
        </label>
        <datalist id="ports">
          {known.map(({ port, name }) => <option key={port} value={port}>{name}</option>)}
        </datalist>
        <button type="submit" disabled={isSending}>Send GET</button>
        {domain !== undefined && port !== "" && (
          <a
            href={previewOf(inside, port, path, { domain, origin: location.origin })}
            target="_blank"
            rel="noopener noreferrer"
          >
            Open preview
          </a>
        )}
      </form>
      {answer && (
        <section aria-label="Answer">
          <p>{answer.head}</p>
          <pre>{answer.text}</pre>
        </section>
      )}
    </>
  );
}

function headOf({ status, statusText, type }: Response, contentType: string): string {
  // Browsers do not reveal where a redirect leads.
  if (type === "opaqueredirect") return "Redirected to another address";
  return `${status} ${statusText}`.trim() + `, ${contentType}`;
}

/** Reads the beginning of an answer, if it is text. */
async function textOf({ body }: Response, contentType: string): Promise<string> {
  if (body === null) return "";
  if (!/^text\/|json|xml|javascript/.test(contentType)) {
    await body.cancel();
    return "(not text)";
  }
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (let text = "";;) {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    if (text.length > MAX_CHARACTERS) {
      await reader.cancel();
      return `${text.slice(0, MAX_CHARACTERS)}\n(and more)`;
    }
    if (done) return text;
  }
}
