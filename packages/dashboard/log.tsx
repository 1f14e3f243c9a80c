/** Shows the log of a container as it grows. @module */
import { useEffect, useRef, useState } from "preact/hooks";
import { logOf, type Session } from "./session.ts";

/** Characters of the log that are kept: with more, browsers become slow. */
const KEPT = 200_000;

/** The log of a Pod's container. */
export function Log(
  { session: { base, token }, namespace, pod }: { session: Session; namespace: string; pod: string },
) {
  const [text, setText] = useState("");
  const [end, setEnd] = useState("");
  const frame = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const ending = new AbortController();
    const read = async () => {
      for await (const part of logOf(base, token, { namespace, pod }, ending.signal)) {
        setText((before) => (before + part).slice(-KEPT));
      }
      setEnd("The container has ended.");
    };
    read().catch((error) => ending.signal.aborted || setEnd(String(error.message ?? error)));
    return () => ending.abort();
  }, [base, token, namespace, pod]);
  useEffect(() => {
    const element = frame.current!;
    element.scrollTop = element.scrollHeight;
  }, [text]);
  return (
    <>
      <pre ref={frame} class="log" tabIndex={0}>{text}</pre>
      {end && <p role="status">{end}</p>}
    </>
  );
}
