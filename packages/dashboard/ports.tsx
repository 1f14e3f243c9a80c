/** Sends a request to a port of a sandbox, and shows the answer as text: no page of a sandbox runs here. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import type { InsideProps } from "./inside.tsx";

/** Most characters of an answer that are shown. */
const MOST_CHARACTERS = 20_000;

/** A form that requests a path from a port. */
export function Ports({ token, namespace, sandbox }: InsideProps) {
  const [port, setPort] = useState("8080");
  const [path, setPath] = useState("/");
  const [said, setSaid] = useState<{ head: string; text: string }>();
  const [isAsking, setAsking] = useState(false);
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  const ask = async () => {
    setAsking(true);
    try {
      const headers = {
        "Authorization": `Bearer ${token}`,
        "X-Sandbox-ID": sandbox,
        "X-Sandbox-Namespace": namespace,
        "X-Sandbox-Port": port,
      };
      const url = new URL(path, location.origin);
      const response = await fetch(location.origin + url.pathname + url.search, {
        headers,
        signal: ending.current.signal,
        cache: "no-store",
        // No cookies are sent or stored: a sandbox's cookies must not stay in this origin.
        credentials: "omit",
        redirect: "manual",
      });
      const type = response.headers.get("content-type") ?? "no content type";
      setSaid({ head: headOf(response, type), text: await textOf(response, type) });
    } catch (error) {
      setSaid({ head: "No answer", text: String(error) });
    }
    setAsking(false);
  };
  return (
    <>
      <form
        class="actions"
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <label>
          Port
          <input
            type="number"
            min={1}
            max={65535}
            required
            value={port}
            onInput={({ currentTarget }) => setPort(currentTarget.value)}
          />
        </label>
        <label>
          Path <input type="text" value={path} onInput={({ currentTarget }) => setPath(currentTarget.value)} />
        </label>
        <button type="submit" disabled={isAsking}>Send GET</button>
      </form>
      {said && (
        <section aria-label="Answer">
          <p>{said.head}</p>
          <pre>{said.text}</pre>
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
    if (text.length > MOST_CHARACTERS) {
      await reader.cancel();
      return `${text.slice(0, MOST_CHARACTERS)}\n(and more)`;
    }
    if (done) return text;
  }
}
