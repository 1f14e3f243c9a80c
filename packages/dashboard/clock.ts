/** The time for what is shown: ages, and what has been lately. @module */
import { useEffect, useState } from "preact/hooks";

/** Returns the time, anew every five seconds: ages are no more precise than that. */
export function useClock(): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), 5000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
