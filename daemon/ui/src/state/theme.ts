/** Light or dark: as the system has it, unless somebody chose. */

export type Theme = "auto" | "light" | "dark";
const STORAGE_KEY = "penstock-theme";

export function storedTheme(): Theme {
  const kept = readStorage();
  return kept === "light" || kept === "dark" ? kept : "auto";
}

export function setTheme(next: Theme): void {
  try {
    if (next === "auto") localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, next);
  } catch {
    // a browser that keeps nothing still shows it
  }
  applyTheme(next);
}

export function applyTheme(next: Theme = storedTheme()): void {
  if (next === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
}

function readStorage(): string | null {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}
