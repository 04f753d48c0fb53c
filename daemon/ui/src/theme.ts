/** Light or dark: as the system has it, unless somebody chose. */

export type Theme = "auto" | "light" | "dark";
const NAME = "penstock-theme";

export function theme(): Theme {
  const kept = read();
  return kept === "light" || kept === "dark" ? kept : "auto";
}

export function choose(next: Theme): void {
  try {
    if (next === "auto") localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, next);
  } catch {
    // a browser that keeps nothing still shows it
  }
  apply(next);
}

export function apply(next: Theme = theme()): void {
  if (next === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
}

function read(): string | null {
  try {
    return localStorage.getItem(NAME);
  } catch {
    return null;
  }
}
