/** Light or dark theme: the system's, unless the user chose one. */

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
    // storage is unavailable: the theme lasts until the page is closed
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
