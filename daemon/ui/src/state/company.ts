/**
 * Keeps all tabs of a browser in one company, because they share the session's cookie: when one
 * tab changes the company, the others load anew, and meanwhile send and show nothing.
 */

const STORAGE_KEY = "penstock-company";
const CHANGING = "changing";
const PATIENCE_MS = 5_000;
/** The person and company that this tab shows; null while it shows none. */
let own: string | null = null;
let waiting: (() => void)[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

/** This tab shows a company from now on; tabs that show another one follow. */
export function showCompany(person: string, company: string): void {
  own = `${person} ${company}`;
  write(own);
}

/** This tab shows no company any more. */
export function hideCompany(): void {
  own = null;
}

/** Change the company of this browser, and load everything anew. */
export async function changeCompany(change: () => Promise<unknown>): Promise<void> {
  await changeSession(change);
  startOver();
}

/** Do what gives this browser another session. The other tabs wait for the outcome. */
export async function changeSession(change: () => Promise<unknown>): Promise<void> {
  const before = { own, stored: read() };
  own = null;
  write(CHANGING);
  try {
    await change();
  } catch (error) {
    own = before.own;
    write(before.stored === CHANGING ? "" : before.stored);
    throw error;
  }
}

/** Load everything anew, at the inbox: addresses of another company lead nowhere. */
export function startOver(): void {
  history.replaceState(null, "", "#/");
  location.reload();
}

/** Resolves while this tab shows the company of the browser; otherwise the tab loads anew. */
export function sameCompany(): Promise<void> {
  if (!hasMoved()) return Promise.resolve();
  follow();
  return new Promise((done) => waiting.push(done));
}

window.addEventListener("storage", (event) => {
  if (event.key === STORAGE_KEY) follow();
});

function follow(): void {
  clearTimeout(timer);
  if (!hasMoved()) {
    for (const done of waiting) done();
    waiting = [];
  } else if (read() === CHANGING) timer = setTimeout(startOver, PATIENCE_MS);
  else startOver();
}

function hasMoved(): boolean {
  const current = read();
  return own !== null && current !== "" && current !== own;
}

function read(): string {
  try {
    return localStorage.getItem(STORAGE_KEY) ?? "";
  } catch {
    return "";
  }
}

function write(value: string): void {
  try {
    localStorage.setItem(STORAGE_KEY, value);
  } catch {
    // storage is unavailable: the tabs notice at their next connection
  }
}
