/** Hash-based routing, so that the service serves a single file. */

import { useSyncExternalStore } from "react";

export interface Route {
  path: string[];
  query: URLSearchParams;
}

let cached: { hash: string; place: Route } | null = null;

function currentRoute(): Route {
  const hash = location.hash;
  if (cached?.hash !== hash) {
    const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
    cached = {
      hash,
      place: {
        path: path.split("/").filter(Boolean).map(decodeSegment),
        query: new URLSearchParams(query),
      },
    };
  }
  return cached.place;
}

export function useRoute(): Route {
  return useSyncExternalStore((changed) => {
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, currentRoute);
}

/** The address of a page. */
export function linkTo(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function navigate(address: string): void {
  location.hash = address;
}

/** Replace the query without a new entry in the browser's history. */
export function replaceQuery(query: URLSearchParams): void {
  const text = query.toString();
  const base = location.hash.split("?", 1)[0] || "#/";
  history.replaceState(null, "", text === "" ? base : `${base}?${text}`);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

function decodeSegment(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
