/** Download a response as a file. A plain link cannot send the header that the session needs. */

import { Problem } from "./client";
import { PAGE_HEADERS } from "./early";
import { fetchRenewed } from "./renewal";
import { common as t } from "../text/en/common";

const REVOKE_AFTER_MS = 10_000;

export async function download(path: string, name: string): Promise<void> {
  let blob: Blob;
  let status = 0;
  try {
    const response = await fetchRenewed(path, { headers: PAGE_HEADERS, cache: "no-store" });
    status = response.status;
    blob = await response.blob();
  } catch {
    throw new Problem(0, "offline", t("downloadIncomplete"));
  }
  if (status !== 200) throw new Problem(status, "refused", t("respondedStatus", { status }));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_AFTER_MS);
}
