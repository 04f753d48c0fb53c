/** Where in the page we are: the part of the address behind `#`, so that the service serves one file. */

import { useSyncExternalStore } from "react";

export interface Place {
  path: string[];
  query: URLSearchParams;
}

let cached: { hash: string; place: Place } | null = null;

export function here(): Place {
  const hash = location.hash;
  if (cached?.hash !== hash) {
    const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
    cached = { hash, place: { path: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) } };
  }
  return cached.place;
}

export function usePlace(): Place {
  return useSyncExternalStore((changed) => {
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, here);
}

/** The address of a part of the page. */
export function to(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function go(address: string): void {
  location.hash = address;
}

/** Change what is filtered without a further entry in the browser's history. */
export function narrow(query: URLSearchParams): void {
  const text = query.toString();
  const base = location.hash.split("?", 1)[0] || "#/";
  history.replaceState(null, "", text === "" ? base : `${base}?${text}`);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
