/** Sends a request to a port of a sandbox, and shows the answer as text: no page of a sandbox runs here. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import type { InsideProps } from "./inside.tsx";

/** Most characters of an answer that are shown. */
const MAX_CHARACTERS = 20_000;

/** A form that requests a path from a port. */
export function Ports({ token, namespace, sandbox }: InsideProps) {
  const [port, setPort] = useState("8080");
  const [path, setPath] = useState("/");
  const [answer, setAnswer] = useState<{ head: string; text: string }>();
  const [isSending, setSending] = useState(false);
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  const send = async () => {
    setSending(true);
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
            value={port}
            onInput={({ currentTarget }) => setPort(currentTarget.value)}
          />
        </label>
        <label>
          Path <input type="text" value={path} onInput={({ currentTarget }) => setPath(currentTarget.value)} />
        </label>
        <button type="submit" disabled={isSending}>Send GET</button>
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
