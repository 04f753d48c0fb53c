/** The title of the tab: how many gates wait for the reader, and the page. */

let page = "";
let count = 0;

export function setTitlePage(title: string): void {
  page = title;
  write();
}

export function setTitleCount(next: number): void {
  count = next;
  write();
}

function write(): void {
  if (page !== "") document.title = `${count > 0 ? `(${count}) ` : ""}${page} · Penstock`;
}
