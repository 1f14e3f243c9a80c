/** The current time for the page, for example to show ages. @module */
import { useEffect, useState } from "preact/hooks";

/** Returns the current time and updates it every five seconds: ages need no more precision. */
export function useClock(): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 5000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
